import { type ClusterGroupUpgradeStatus, ClusterGroupUpgradeStatus as Status, unpackStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { fitStatus } from './status-budget.ts';

const FLEET = 5000;
const LIMIT = 512 * 1024;
/** Names of 40 unrelated characters, as in fleets with generated names. */
const names = Array.from(
  { length: FLEET },
  (_, index) => `site-${((index * 7919 + 13) % FLEET).toString().padStart(5, '0')}-${'a1b2c3d4e5f6g7h8i9j0k1l2m3n4o'.slice(0, 29)}`,
);
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;
const each = <T>(value: (index: number) => T): Record<string, T> => Object.fromEntries(names.map((name, index) => [name, value(index)]));
const time = (index: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + index * 1000).toISOString().replace('.000Z', 'Z');

/** Digests of the uids of all clusters, as the hub notes them. */
const UIDS = 'x'.repeat(6 + 5 * FLEET);
const LONG = 'registry.example refused the image: '.padEnd(256, 'x');
const NUMBERS = {
  imagesDone: 199,
  imagesTotal: 200,
  bytesDone: 19_999_999_999,
  bytesTotal: 20_000_000_000,
  bytesPerSecond: 99_999_999,
  at: '2026-01-01T00:00:00Z',
};
const one = [names];
const singles = names.map((name) => [name]);
const failures = ['UnrecoverableError', 'PrecacheTimeout'] as const;
const precaching = (state: (index: number) => string, more: object = {}) => ({ spec: {}, status: each(state), ...more });
const started = { startedAt: time(0) };
const batch = (entry: (index: number) => object) => ({
  ...started,
  currentBatch: 1,
  currentBatchStartedAt: time(0),
  currentBatchRemediationProgress: each(entry),
});
const record = (state: string, more: object = {}) => names.map((name) => ({ name, state, ...more }));
/** Proofs of all clusters, some of which pull again. */
const proofs = [names.slice(100), names.slice(0, 100)].map((clusters, index) => ({
  number: index,
  kind: pick(['prove', 'pull'], index),
  at: time(index),
  clusters,
}));
const atPolicy = { currentPolicy: { name: 'common-config-policy', status: 'NonCompliant' } };

const phases: Record<string, object> = {
  'all wait for their turn to pre-cache': { remediationPlan: one, precaching: precaching(() => 'PreparingToStart') },
  'all pull, one by one in the plan': {
    remediationPlan: singles,
    precaching: precaching(() => 'Active', { messages: each(() => LONG), progress: each(() => NUMBERS) }),
  },
  'all but one failed pre-caching': {
    remediationPlan: one,
    precaching: precaching((index) => (index === 0 ? 'Active' : 'UnrecoverableError'), { messages: each(() => LONG) }),
  },
  'all failed pre-caching': {
    clusters: record('failed'),
    precaching: precaching((index) => pick(failures, index), { messages: each(() => LONG) }),
  },
  'all are backed up after pre-caching': {
    remediationPlan: one,
    precaching: precaching(() => 'Succeeded'),
    backup: { startedAt: time(0), status: each(() => 'UnrecoverableError'), messages: each(() => LONG) },
  },
  'all are prepared': { remediationPlan: one, precaching: precaching(() => 'Succeeded'), messages: each(() => LONG), status: started },
  'all comply from the beginning': {
    precaching: precaching(() => 'Succeeded'),
    status: { ...started, currentBatchRemediationProgress: each(() => ({ state: 'Completed' })) },
  },
  'all are at a policy': {
    remediationPlan: one,
    precaching: precaching(() => 'Succeeded'),
    messages: each(() => LONG),
    status: batch((index) => ({ state: 'InProgress', policyIndex: index % 4 })),
  },
  'all are proven, one by one in the plan, and at a policy': {
    remediationPlan: singles,
    precaching: precaching(() => 'Succeeded', { proofs }),
    backup: { status: each(() => 'Succeeded') },
    status: batch((index) => ({ state: 'InProgress', policyIndex: index % 4 })),
  },
  'all are recorded with their proofs': {
    remediationPlan: one,
    precaching: precaching(() => 'Succeeded', { proofs }),
    backup: { status: each(() => 'Succeeded') },
    clusters: record('timedout'),
    status: batch((index) => ({ state: 'InProgress', policyIndex: index % 4, firstCompliantAt: time(index % 1000) })),
  },
  'all soak since another second each': {
    remediationPlan: one,
    precaching: precaching((index) => pick(['Succeeded', ...failures], index)),
    status: batch((index) => ({ state: 'InProgress', policyIndex: index % 4, firstCompliantAt: time(index) })),
  },
  'all are recorded, and the batch has not ended': {
    remediationPlan: one,
    precaching: precaching(() => 'Succeeded'),
    clusters: names.map((name, index) => ({
      name,
      state: pick(['complete', 'timedout'], index),
      ...(index % 2 && { message: LONG, ...atPolicy }),
    })),
    status: batch((index) => ({ state: index % 2 ? 'InProgress' : 'Completed', ...(index % 2 && { policyIndex: 3 }) })),
  },
  'half are recorded, half soak': {
    remediationPlan: one,
    precaching: precaching(() => 'Succeeded'),
    backup: { status: each(() => 'Succeeded') },
    clusters: record('complete').slice(0, FLEET / 2),
    status: batch((index) =>
      index < FLEET / 2 ? { state: 'Completed' } : { state: 'InProgress', policyIndex: 1, firstCompliantAt: time(index) },
    ),
  },
  'all timed out with details': {
    remediationPlan: singles,
    precaching: precaching(() => 'Succeeded'),
    clusters: record('timedout', { message: LONG, currentManifestWork: { name: 'work', status: { manifests: [LONG, LONG] } } }),
    status: { ...started, completedAt: time(9) },
  },
};

/** Reads a status without its explanations. */
function statesOf(status: ClusterGroupUpgradeStatus) {
  const { remediationPlan, clusters, precaching: images, backup, status: progress } = unpackStatus(status);
  return [remediationPlan, clusters?.map(({ name, state }) => [name, state]), images?.status, backup?.status, progress];
}

describe(`${FLEET} clusters with names of 40 characters`, () => {
  test.each(Object.entries(phases))('%s: at most 512 KiB, and no state is lost', (name, parts) => {
    const status = Status.parse({ ...parts, clusterUids: UIDS });
    const fitted = fitStatus(status);
    process.stdout.write(`${name}: ${(bytes(status) / 1024).toFixed(0)} → ${(bytes(fitted) / 1024).toFixed(0)} KiB\n`);
    expect(names[0]).toHaveLength(40);
    expect(bytes(fitted)).toBeLessThanOrEqual(LIMIT);
    expect(statesOf(fitted)).toEqual(statesOf(status));
    expect(fitted.clusterUids).toBe(UIDS);
  });

  test.each(Object.entries(phases))('%s: the next pass over what was stored changes nothing', (_, parts) => {
    const stored = fitStatus(Status.parse(parts));
    expect(fitStatus(unpackStatus(Status.parse(JSON.parse(JSON.stringify(stored)))))).toEqual(JSON.parse(JSON.stringify(stored)));
  });

  test('the plan, which others read, is packed only where records leave it no room', () => {
    const packed = Object.entries(phases).filter(([, parts]) => fitStatus(Status.parse({ ...parts, clusterUids: UIDS })).packed?.plan);
    expect(packed.map(([name]) => name)).toEqual([
      'all are recorded with their proofs',
      'all are recorded, and the batch has not ended',
      'half are recorded, half soak',
      'all timed out with details',
    ]);
  });
});

describe('order of left-out fields', () => {
  const fleet = (message: string) => ({
    clusters: [{ name: 'ended', state: 'timedout', message }],
    messages: { held: message },
    precaching: {
      status: { failed: 'UnrecoverableError', pulling: 'Active' },
      messages: { failed: message, pulling: message },
      progress: { pulling: { ...NUMBERS } },
    },
  });
  const said = (size: number) => {
    const { clusters, messages, precaching: images } = fitStatus(Status.parse(fleet('x'.repeat(size))));
    return [clusters?.[0]?.message, images?.messages?.failed, messages?.held, images?.messages?.pulling, images?.progress?.pulling].map(
      (each) => each !== undefined,
    );
  };

  test.each([
    { name: 'nothing when there is room', size: 1000, want: [true, true, true, true, true] },
    { name: 'messages of clusters that are under way', size: 160_000, want: [true, true, true, false, true] },
    { name: 'then those of clusters the rollout is held on', size: 200_000, want: [true, true, false, false, true] },
    { name: 'why pre-caching failed is shortened before it goes', size: 300_000, want: [true, true, false, false, true] },
  ])('$name', ({ size, want }) => expect(said(size)).toEqual(want));
});

test.each([
  { many: 300, most: 1_150, least: 1_150 },
  { many: FLEET, most: 512, least: 500 },
])('of $many clusters whose pre-caching failed, texts have up to $most characters and end as they did', ({ many, most, least }) => {
  const failed = names.slice(0, many);
  const text = `pull of a failed: ${'and so on '.repeat(200)}`.slice(0, 1_150 - 16).concat('401 Unauthorized');
  const all = <T>(value: T) => Object.fromEntries(failed.map((name) => [name, value]));
  const status = Status.parse({ precaching: { status: all('UnrecoverableError'), messages: all(text) } });
  const fitted = fitStatus(status);
  const said = Object.values(fitted.precaching?.messages ?? {});
  expect(said.length).toBeGreaterThan(299);
  expect(said.filter((each) => each.length > most || each.length < least - 40 || !each.endsWith('401 Unauthorized'))).toEqual([]);
  expect(bytes(fitted)).toBeLessThanOrEqual(LIMIT);
});

test('a server that does not keep what is packed gets the states in full', () => {
  const status = Status.parse(phases['all soak since another second each'] ?? {});
  const fitted = fitStatus(status, { canPack: false });
  expect(fitted.packed).toBeUndefined();
  expect(statesOf(fitted)).toEqual(statesOf(status));
});
