import { expect, test } from 'vitest';
import { ClusterGroupUpgradeStatus } from './cluster-group-upgrade.ts';
import { packStatus, unpackStatus } from './packed-status.ts';

const names = Array.from({ length: 60 }, (_, index) => `site-${(index * 37) % 60}`);
const time = (index: number) => `2026-01-01T00:00:0${index % 3}Z`;
const status = ClusterGroupUpgradeStatus.parse({
  remediationPlan: [names.slice(0, 20), names.slice(20)],
  clusters: names.slice(0, 20).map((name, index) => ({ name, state: index % 2 ? 'complete' : 'timedout' })),
  precaching: {
    spec: {},
    status: Object.fromEntries([...names, 'left'].map((name, index) => [name, index % 5 ? 'Succeeded' : 'PrecacheTimeout'])),
  },
  backup: { status: { [names[3] ?? '']: 'Succeeded' } },
  status: {
    startedAt: '2026-01-01T00:00:00Z',
    currentBatch: 2,
    currentBatchRemediationProgress: Object.fromEntries(
      names
        .slice(10)
        .map((name, index) => [
          name,
          index < 10 ? { state: 'Completed' } : { state: 'InProgress', policyIndex: index % 4, firstCompliantAt: time(index) },
        ]),
    ),
  },
});
const size = (value: unknown) => JSON.stringify(value).length;

test('a status that fits is left as it is', () => {
  expect(packStatus(status, size(status))).toBe(status);
  expect(unpackStatus(status)).toBe(status);
});

test.each([0.9, 0.8, 0.6, 0.5, 0.4, 0])('packed into %f of its size, nothing is lost, and no more is packed than is needed', (part) => {
  const packed = packStatus(status, size(status) * part);
  expect(packed.packed).toBeDefined();
  expect(size(packed)).toBeLessThan(size(status));
  // JSON, as an API server stores it.
  expect(unpackStatus(ClusterGroupUpgradeStatus.parse(JSON.parse(JSON.stringify(packed))))).toEqual(status);
  expect(packed.clusters).toEqual(status.clusters);
});

test('states are packed first, and the plan, which others read, last', () => {
  const orders = [0.9, 0.4, 0].map((part) => Object.keys(packStatus(status, size(status) * part).packed ?? {}));
  expect(orders).toEqual([
    ['precaching', 'others'],
    ['precaching', 'others', 'backup', 'progress', 'soaks'],
    ['precaching', 'others', 'backup', 'progress', 'soaks', 'plan'],
  ]);
});

test('a status that an earlier version has packed is read whole', () => {
  const stored = ClusterGroupUpgradeStatus.parse({
    clusters: [
      { name: 'a', state: 'complete' },
      { name: 'e', state: 'timedout' },
    ],
    precaching: { spec: {}, status: { g: 'Active' } },
    backup: { status: {} },
    status: { currentBatch: 1, currentBatchRemediationProgress: { c: { state: 'InProgress', policyIndex: 1 } } },
    packed: {
      precaching: { Succeeded: '0-2,5', PrecacheTimeout: '3' },
      backup: { Succeeded: '0', UnrecoverableError: '1' },
      proofs: { '{"number":3,"kind":"prove","at":"2026-01-01T00:00:00Z"}': '3,1' },
      plan: ['2,0', '1,3'],
      progress: { '{"state":"Completed"}': '0' },
      soaks: { '2026-01-01T00:00:01Z': '2' },
      others: ['b', 'd', 'f'],
    },
  });
  const soaking = { state: 'InProgress', policyIndex: 1, firstCompliantAt: '2026-01-01T00:00:01Z' };
  expect(unpackStatus(stored)).toEqual({
    remediationPlan: [
      ['c', 'a'],
      ['b', 'd'],
    ],
    clusters: stored.clusters,
    precaching: {
      spec: {},
      status: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded', d: 'PrecacheTimeout', f: 'Succeeded', g: 'Active' },
      proofs: [{ number: 3, kind: 'prove', at: '2026-01-01T00:00:00Z', clusters: ['d', 'b'] }],
    },
    backup: { status: { a: 'Succeeded', b: 'UnrecoverableError' } },
    status: { currentBatch: 1, currentBatchRemediationProgress: { a: { state: 'Completed' }, c: soaking } },
  });
});

test('a status that somebody edited gives what can be read of it, and takes little time', () => {
  const edited = ClusterGroupUpgradeStatus.parse({ packed: { plan: ['0-999999999999', 'x,,-', '1'], others: ['a', 'b'] } });
  expect(unpackStatus(edited).remediationPlan).toEqual(
    [['a', 'b'], [], ['b']].map((batch, index) => (index === 1 ? expect.any(Array) : batch)),
  );
});

test('proofs of thousands are packed by their job', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => `site-${index}`);
  const proof = { number: 3, kind: 'prove', at: '2026-01-01T00:00:00Z', clusters: many } as const;
  const precaching = { spec: {}, status: Object.fromEntries(many.map((name) => [name, 'Succeeded'])), proofs: [proof] };
  const whole = ClusterGroupUpgradeStatus.parse({ remediationPlan: [many], precaching, status: { startedAt: '2026-01-01T00:00:00Z' } });
  const packed = packStatus(whole, size(whole) / 3);
  expect(packed.precaching).not.toHaveProperty('proofs');
  expect(unpackStatus(ClusterGroupUpgradeStatus.parse(JSON.parse(JSON.stringify(packed))))).toEqual(whole);
});
