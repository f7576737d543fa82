import { Annotation } from '@flotilla/api';
import { expect, test } from 'vitest';
import { findOtherPlan, planDigest } from './plan-digest.ts';

type Planned = Parameters<typeof planDigest>[0];
const policies = { forUpgrade: [] };
const plan = {
  batches: [['a'], ['b', 'c']],
  precaching: { spec: { platformImage: 'r@1', additionalImages: ['x'] } },
  policies,
} satisfies Planned;
const templates: Record<string, unknown> = { t: { manifests: [1] } };
const digestOf = (planned: Planned, of = templates) =>
  planDigest(planned, { manifestWorkTemplates: ['t'] }, (name) => ({ spec: of[name] }));
const first = digestOf(plan);
const bound = (digest: string) => ({ metadata: { name: 'u', annotations: { [Annotation.plan]: digest } } });
const refusal = (now: string) => findOtherPlan(bound(first), () => now)?.message;

test('the same plan has the same digest, in whatever order its fields are', () => {
  expect(digestOf({ ...plan, precaching: { spec: { additionalImages: ['x'], platformImage: 'r@1' } } })).toBe(first);
  expect(findOtherPlan(bound(` ${first} `), () => first)).toBeUndefined();
});

test.each([
  ['the batches', digestOf({ ...plan, batches: [['a', 'b'], ['c']] })],
  ['the images to pre-cache', digestOf({ ...plan, precaching: undefined })],
  ['what the policies or templates change', digestOf(plan, { t: { manifests: [2] } })],
])('another plan is refused by what differs: %s', (part, now) => {
  expect(refusal(now)).toContain(`The upgrade differs from the plan that was saved: ${part}; its digest is ${now} now`);
});

test('what is no digest is told as such, and nobody reckons without the annotation', () => {
  expect(findOtherPlan(bound('sha256:0'), () => first)?.message).toContain('is "sha256:0", which is no digest of a plan');
  const never = () => {
    throw new Error('was asked');
  };
  expect(findOtherPlan({ metadata: { name: 'u' } }, never)).toBeUndefined();
});
