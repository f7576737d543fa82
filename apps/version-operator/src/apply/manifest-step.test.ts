import { ManualClock } from '@flotilla/pace/testing';
import { ApiError, createLogger, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { DriftTeller } from './drift-teller.ts';
import { type StepPurpose, type StepTools, stepManifest } from './manifest-step.ts';

const spec = { podSelector: {}, ingress: [], policyTypes: ['Ingress'] };
const opened = { spec: { ...spec, ingress: [{}] }, metadata: { name: 'deny-all', resourceVersion: '1' } };
const closed = { ...opened, spec };
const wanted = {
  key: 'networking.k8s.io/v1/NetworkPolicy|lab/deny-all',
  kindKey: 'networking.k8s.io/v1/NetworkPolicy',
  objectKey: 'lab/deny-all',
  manifest: { group: 'networking.k8s.io', kind: 'NetworkPolicy', namespace: 'lab', name: 'deny-all', object: {} },
  builder: {},
};
const webhookDown = new ApiError(RuntimeErrorCode.unavailable, 'put', {
  status: 500,
  reason: 'InternalError',
  serverMessage: 'failed calling webhook',
});

test('an opened policy is put back when a webhook that refused the dry run answers again', async () => {
  const clock = new ManualClock();
  const logger = createLogger({ name: 'step', level: 'silent' });
  let [isDown, asked, standing] = [true, 0, 'unproven'];
  const written: unknown[] = [];
  const tools = {
    drift: new DriftTeller({ clock, logger, tell: () => undefined }),
    live: {
      kinds: { find: () => ({}) },
      intentOf: () => 'apply',
      read: async () => true,
      get: () => ({ metadata: opened.metadata, seen: { standing, whole: opened } }),
      standing: () => standing,
      merge: () => closed,
      settle: () => (standing = 'same'),
      take: () => (standing = 'same'),
    },
    writer: {
      isObserving: false,
      async prove() {
        asked++;
        if (isDown) throw webhookDown;
        return closed;
      },
      async replace(_kind: unknown, _before: unknown, next: unknown) {
        written.push(next);
        return next;
      },
    },
  };
  const purpose: StepPurpose = { state: 'Updating', context: {}, degradedBlocks: false };
  const step = () => stepManifest('task', wanted as never, purpose, tools as unknown as StepTools);
  expect([await step(), await step(), asked, written]).toEqual([{ done: true }, { done: true }, 1, []]);
  isDown = false;
  await clock.advance(60_000);
  expect([await step(), asked, written]).toEqual([{ done: true }, 2, [closed]]);
});

test('a request that an aggregated API server is away for names its APIService', async () => {
  const away = new ApiError(RuntimeErrorCode.unavailable, 'post', { status: 503, reason: 'ServiceUnavailable', serverMessage: 'away' });
  const why = 'APIService v1.image.openshift.io is not available: MissingEndpoints';
  const tools = {
    live: { intentOf: () => 'apply', read: () => Promise.reject(away), whyAway: async () => why },
    writer: { isObserving: false },
  };
  const purpose: StepPurpose = { state: 'Updating', context: {}, degradedBlocks: false };
  const end = await stepManifest('task', wanted as never, purpose, tools as unknown as StepTools);
  expect(end).toMatchObject({ done: false, held: { error: { message: expect.stringContaining(`away: ${why}`) } } });
});
