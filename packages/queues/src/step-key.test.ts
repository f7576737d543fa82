import { expect, test } from 'vitest';
import { keyId, StepKey } from './step-key.ts';

const key = { kind: 'precache', upgrade: '0a1b2c3d-0000-4000-8000-000000000000', cluster: 'spoke-1.example.com' };

test.each([
  { name: 'a step of a cluster', data: key, want: true },
  { name: 'Placements', data: { ...key, kind: 'placements', cluster: '' }, want: true },
  { name: 'Placements of a cluster', data: { ...key, kind: 'placements' }, want: false },
  { name: 'no cluster', data: { ...key, cluster: '' }, want: false },
  { name: 'more than identities', data: { ...key, image: 'evil' }, want: false },
  { name: 'a kind that is none', data: { ...key, kind: 'constructor' }, want: false },
  { name: 'a path', data: { ...key, cluster: '../kube-system' }, want: false },
  { name: 'a separator', data: { ...key, upgrade: 'a/b' }, want: false },
  { name: 'an endless name', data: { ...key, cluster: 'a'.repeat(254) }, want: false },
  { name: 'text', data: 'precache', want: false },
])('$name: $want', ({ data, want }) => expect(StepKey.safeParse(data).success).toBe(want));

test('different keys have different texts', () => {
  const keys = [key, { ...key, kind: 'backup' }, { ...key, upgrade: 'x' }, { ...key, cluster: 'y' }].map((each) => StepKey.parse(each));
  expect(new Set(keys.map(keyId)).size).toBe(keys.length);
});
