import { describe, expect, test } from 'vitest';
import { buildMachine, buildNode, buildSet } from '../testing/upgrade-builders.ts';
import { hasWorkerSet, type ObservedMachines, originalsOf, planSurge, surgeRemains, surgeSetOf } from './surge.ts';

const POOL = 'hive.openshift.io/machine-pool';
const SET = 'machine.openshift.io/cluster-api-machineset';
const UPGRADE = { 'upgrade.managed.openshift.io': 'true' };
const TIME_OUT = 30 * 60_000;
const now = Date.parse('2026-02-01T10:10:00Z');
const later = Date.parse('2026-02-01T10:30:00.001Z');

const a = buildSet('a', { [POOL]: 'worker' });
const b = buildSet('b', { [POOL]: 'worker' });
const extra = buildSet('x', { [POOL]: 'non-serving-1' });
const copy = (name: string, status: Record<string, unknown>) => buildSet(`${name}-upgrade`, UPGRADE, { status });
const machine = (set: string, status: Record<string, unknown>) => buildMachine(`${set}-m`, { ...UPGRADE, [SET]: set }, status);
const ready = buildNode('n', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
const good = {
  sets: [copy('a', { replicas: 1, readyReplicas: 1 })],
  machines: [machine('a-upgrade', { phase: 'Running', nodeRef: { name: 'n' } })],
};
const observed = (
  machineSets: ObservedMachines['machineSets'],
  machines: ObservedMachines['machines'] = [],
  nodes = [ready],
): ObservedMachines => ({
  machineSets,
  machines,
  nodes,
});
const plan = (seen: ObservedMachines, nowMs = now) => planSurge(seen, [], TIME_OUT, nowMs);
const created = (seen: ObservedMachines) => {
  const surge = plan(seen);
  return surge.kind === 'create' ? surge.sets.map(({ metadata }) => metadata.name) : surge.kind;
};

test('originals are the sets of workers and those of extra pools', () => {
  expect(originalsOf([a, extra, copy('a', {}), buildSet('none', {})], ['non-*']).map(({ metadata }) => metadata.name)).toEqual(['a', 'x']);
  expect(hasWorkerSet([extra])).toBe(false);
  expect(hasWorkerSet([extra, a])).toBe(true);
});

test('a set of the name of a copy that was not made for an upgrade is left alone, and named', () => {
  expect(plan(observed([a, b, buildSet('b-upgrade', {})]))).toEqual({ kind: 'name-taken', name: 'b-upgrade' });
});

test('a copy has one machine and names of its own; the rest is as it was', () => {
  const original = buildSet(
    'a',
    { [POOL]: 'worker' },
    {
      spec: {
        replicas: 3,
        selector: { matchLabels: { role: 'worker', [SET]: 'a' } },
        template: { metadata: { labels: { role: 'worker', [SET]: 'a' } }, spec: { providerSpec: { value: { zone: 'z' } } } },
      },
    },
  );
  const labels = { role: 'worker', [SET]: 'a-upgrade', ...UPGRADE };
  expect(surgeSetOf(original)).toEqual({
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    metadata: { name: 'a-upgrade', namespace: 'openshift-machine-api', labels: UPGRADE },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { providerSpec: { value: { zone: 'z' } } } },
    },
  });
});

describe('capacity', () => {
  test('is made for each original that has none, whatever others have', () => {
    expect(created(observed([a, b]))).toEqual(['a-upgrade', 'b-upgrade']);
    expect(created(observed([a, b, ...good.sets], good.machines))).toEqual(['b-upgrade']);
  });
  test('cannot be made without an original', () => expect(plan(observed([extra])).kind).toBe('none-to-copy'));
  test('is ready with its node', () => expect(plan(observed([a, ...good.sets], good.machines)).kind).toBe('ready'));

  test.each([
    { name: 'no machine ever', seen: observed([a, copy('a', { replicas: 0, readyReplicas: 0 })]) },
    { name: 'a set without status', seen: observed([a, buildSet('a-upgrade', UPGRADE)]) },
    { name: 'a machine that is not ready', seen: observed([a, copy('a', { replicas: 1, readyReplicas: 0 })]) },
    { name: 'a machine without a node', seen: observed([a, ...good.sets], [machine('a-upgrade', { phase: 'Running' })]) },
    { name: 'a node that is not ready', seen: observed([a, ...good.sets], good.machines, [buildNode('n')]) },
    { name: 'a node that is gone', seen: observed([a, ...good.sets], good.machines, []) },
    { name: 'no machine of its own', seen: observed([a, ...good.sets], [machine('b-upgrade', { nodeRef: { name: 'n' } })]) },
  ])('with $name it is waited for, until it is late by the age of its set', ({ seen }) => {
    expect(plan(seen)).toMatchObject({ kind: 'waiting', deadlineMs: Date.parse('2026-02-01T10:30:00Z') });
    expect(plan(seen, later).kind).toBe('late');
  });
});

test('a machine that the cloud does not make is told in its words, before the count of machines', () => {
  const status = { phase: 'Failed', errorReason: 'InvalidConfiguration', errorMessage: 'quota of\nvCPU exceeded' };
  const seen = observed([a, copy('a', { replicas: 1, readyReplicas: 0 })], [machine('a-upgrade', status)]);
  const reason = 'Machine a-upgrade-m has failed: InvalidConfiguration: quota of vCPU exceeded';
  expect(plan(seen)).toMatchObject({ kind: 'waiting', reason });
  expect(plan(seen, later)).toEqual({ kind: 'late', reason });
});

test('remains: sets to delete, nodes of machines that run or go, machines without one', () => {
  const going = buildSet('b-upgrade', UPGRADE, {}, { deletionTimestamp: '2026-02-01T10:00:00Z' });
  const remains = surgeRemains(observed([a, ...good.sets, going], [...good.machines, machine('b-upgrade', { phase: 'Deleting' })]));
  expect(remains.sets.map(({ metadata }) => metadata.name)).toEqual(['a-upgrade']);
  expect(remains.nodes).toEqual(['n']);
  expect(remains.homeless).toBe('b-upgrade-m');
  expect(surgeRemains(observed([a], [machine('x', { phase: 'Provisioning' })])).homeless).toBeUndefined();
});
