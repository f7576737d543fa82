import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { describeIgnoredEdits, effectOf } from './effect.ts';

const condition = (type: string, status: string, observedGeneration?: number) => ({
  type,
  status,
  reason: 'r',
  message: 'm',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...(observedGeneration !== undefined && { observedGeneration }),
});
const RUNS = [condition('Progressing', 'True')];
const ENDED = [condition('Progressing', 'False'), condition('Succeeded', 'True')];

interface World {
  upgrade: ClusterGroupUpgrade;
}

/** An upgrade that a hub looks at after each of these steps, as its status was stored by the look before. */
function start(annotations: Record<string, string> = {}): World {
  const spec = { clusters: ['a', 'b'], remediationStrategy: { maxConcurrency: 1 }, actions: { afterCompletion: {} } };
  return { upgrade: ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u', namespace: 'ns', generation: 1, annotations }, spec }) };
}

function look(world: World, status: object = {}): string | undefined {
  const { upgrade } = world;
  const next = ClusterGroupUpgrade.schema.parse({ ...upgrade, status: { ...upgrade.status, ...status } }).status ?? { status: {} };
  const effect = effectOf(upgrade, next);
  world.upgrade = { ...upgrade, status: { ...next, effect } };
  return describeIgnoredEdits(upgrade, effect);
}

function edit(world: World, spec: object): void {
  const { metadata, spec: before } = world.upgrade;
  world.upgrade = ClusterGroupUpgrade.schema.parse({
    ...world.upgrade,
    metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    spec: { ...before, ...spec },
  });
}

const IN_TIME = undefined;
const late = (...fields: string[]) =>
  `Edited too late to count: ${fields.join(', ')}; put them back as they were, or create another upgrade with them`;

test('before the start every edit counts, and nothing is noted', () => {
  const world = start();
  edit(world, { clusters: ['c'] });
  expect([look(world), world.upgrade.status?.effect]).toEqual([IN_TIME, undefined]);
});

test.each([
  { name: 'clusters', spec: { clusters: ['a'] }, want: late('spec.clusters') },
  { name: 'clusters in another order', spec: { clusters: ['b', 'a'] }, want: late('spec.clusters') },
  { name: 'a field that was absent', spec: { blockingCRs: [{ name: 'x' }] }, want: late('spec.blockingCRs') },
  {
    name: 'two fields, of which one counts',
    spec: { enable: false, remediationStrategy: { maxConcurrency: 1, timeout: 5 } },
    want: late('spec.enable'),
  },
  {
    name: 'the size of batches',
    spec: { remediationStrategy: { maxConcurrency: 9 } },
    want: late('spec.remediationStrategy.maxConcurrency'),
  },
  { name: 'the time-out, which counts', spec: { remediationStrategy: { maxConcurrency: 1, timeout: 5 } }, want: IN_TIME },
  { name: 'a default that is written out', spec: { enable: true, actions: { afterCompletion: { deleteObjects: true } } }, want: IN_TIME },
])('while it runs: $name', ({ spec, want }) => {
  const world = start();
  expect(look(world, { conditions: RUNS })).toBe(IN_TIME);
  edit(world, spec);
  expect([look(world), look(world)]).toEqual([want, want]);
  expect(look(world, { conditions: ENDED })).toBe(want);
});

test('an edit that is taken back counts for nothing, also after the end', () => {
  const world = start();
  look(world, { conditions: RUNS });
  edit(world, { clusters: ['a'] });
  expect(look(world, { conditions: ENDED })).toBe(late('spec.clusters'));
  edit(world, { clusters: ['a', 'b'] });
  expect([look(world), world.upgrade.status?.effect?.generation]).toEqual([IN_TIME, 3]);
});

test('clusters may join where the annotation lets them', () => {
  const world = start({ 'flotilla.io/membership': 'add' });
  look(world, { conditions: RUNS });
  edit(world, { clusters: ['a', 'b', 'c'] });
  expect(look(world)).toBe(IN_TIME);
  look(world, { conditions: ENDED });
  edit(world, { clusters: ['a', 'b'] });
  expect(look(world)).toBe(late('spec.clusters'));
});

test('after the verdict nothing counts but whether objects are kept, and that until they are gone', () => {
  const world = start();
  look(world, { conditions: RUNS });
  look(world, { conditions: ENDED });
  edit(world, { actions: { afterCompletion: { deleteObjects: false } } });
  expect(look(world)).toBe(IN_TIME);
  look(world, { status: { completedAt: '2026-01-01T00:00:00Z' } });
  edit(world, { actions: { afterCompletion: { deleteObjects: true } }, remediationStrategy: { maxConcurrency: 1, timeout: 5 } });
  expect(look(world)).toBe(late('spec.remediationStrategy.timeout', 'spec.actions.afterCompletion.deleteObjects'));
});

test('an upgrade that another hub ended is taken as it is, unless its status says that it was edited since', () => {
  const untold = start();
  untold.upgrade = ClusterGroupUpgrade.schema.parse({ ...untold.upgrade, status: { conditions: ENDED } });
  edit(untold, { clusters: ['a'] });
  expect([look(untold), look(untold)]).toEqual([IN_TIME, IN_TIME]);

  const told = start();
  const conditions = [condition('Succeeded', 'True', 1)];
  told.upgrade = ClusterGroupUpgrade.schema.parse({ ...told.upgrade, status: { conditions, observedGeneration: 2 } });
  edit(told, { clusters: ['a'] });
  const want = expect.stringMatching(
    /^The upgrade ended by generation 1 of its spec, and this is generation 2: .*not known where; put them back/,
  );
  expect(look(told)).toEqual(want);
  expect(look(told, { conditions: [condition('Succeeded', 'True', 2)] })).toEqual(want);
});

test('a field that the hub of the start did not know is no edit', () => {
  const world = start();
  look(world, { conditions: RUNS });
  const { clusters: _, ...fields } = world.upgrade.status?.effect?.fields ?? {};
  world.upgrade = { ...world.upgrade, status: { status: {}, ...world.upgrade.status, effect: { generation: 1, fields } } };
  edit(world, { clusters: ['c'] });
  expect(look(world)).toBe(IN_TIME);
});
