import { Node, Pod } from '@flotilla/api/core';
import { describe, expect, test } from 'vitest';
import { buildBudget, buildPod, buildPool } from '../testing/upgrade-builders.ts';
import { describeHolders, describePaused, describeWorkers, stuckNodes } from './worker-report.ts';

const NOW = Date.parse('2026-02-01T10:00:00Z');
const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString();
const cordoned = (name: string, minutesAgo: number, { state = 'Working', labels = {} }: { state?: string; labels?: object } = {}) =>
  Node.schema.parse({
    metadata: { name, labels, annotations: { 'machineconfiguration.openshift.io/state': state } },
    spec: {
      unschedulable: true,
      taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded: at(minutesAgo) }],
    },
  });
const told = (nodes: Node[]) => stuckNodes(nodes, { expectedMinutes: 8, nowMs: NOW }).map(({ metadata }) => metadata.name);

test('nodes are stuck that are not drained in the time that a drain takes, the longest first', () => {
  expect(told([cordoned('a', 9), cordoned('b', 7), cordoned('c', 60)])).toEqual(['c', 'a']);
});
test.each([
  { name: 'that somebody cordoned for another reason', node: cordoned('a', 60, { state: 'Done' }) },
  { name: 'of the control plane', node: cordoned('a', 60, { labels: { 'node-role.kubernetes.io/master': '' } }) },
  { name: 'that takes pods', node: Node.schema.parse({ metadata: { name: 'a' } }) },
])('no node $name is', ({ node }) => expect(told([node])).toEqual([]));

describe('holders of a node', () => {
  const budgets = [buildBudget({ matchLabels: { app: 'guarded' } })];
  test('is named, with budgets and finalizers, those with a budget first', () => {
    const pods = [
      buildPod('plain'),
      buildPod('guarded', { labels: { app: 'guarded' } }),
      buildPod('kept', { deletionTimestamp: at(1), finalizers: ['x/y'] }),
    ];
    expect(describeHolders(pods, budgets)).toBe('pods shop/guarded (budget budget), shop/plain, shop/kept (finalizers x/y)');
  });
  test('is no pod of a DaemonSet, none of the node itself and none that has ended', () => {
    const ended = Pod.schema.parse({ metadata: { name: 'p', namespace: 'n' }, status: { phase: 'Succeeded' } });
    const pods = [
      buildPod('d', { ownerReferences: [{ kind: 'DaemonSet' }] }),
      buildPod('m', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
    ];
    expect(describeHolders([...pods, ended], budgets)).toBe('no pod that a drain would take away');
  });
  test('is bounded', () => {
    expect(
      describeHolders(
        Array.from({ length: 200 }, (_, index) => buildPod(`p${index}`)),
        [],
      ),
    ).toBe('pods shop/p0, shop/p1, shop/p2, shop/p3, shop/p4 and 195 more');
  });
});

const paused = (updated: number, machines = 2, had = 'old') =>
  buildPool(
    'infra',
    { paused: true, configuration: { name: 'new' } },
    { machineCount: machines, updatedMachineCount: updated, configuration: { name: had } },
  );

test('a paused pool stays behind as long as it has machines without what is configured', () => {
  expect(describePaused([paused(0)])).toBe('infra');
  expect(describePaused([paused(2, 2, 'new')])).toBeUndefined();
  expect(describePaused([paused(0, 0)])).toBeUndefined();
  expect(describePaused([{ ...paused(0), metadata: { name: 'master' } }])).toBeUndefined();
  expect(describePaused(Array.from({ length: 7 }, () => paused(0)))).toBe('infra, infra, infra, infra, infra and 2 more');
});

test('workers are named that somebody cordoned or that are not ready, and no others', () => {
  const cordonedByHand = cordoned('w-1', 60, { state: 'Done' });
  const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped\nposting' }];
  const away = Node.schema.parse({ metadata: { name: 'w-2' }, status: { conditions } });
  const well = Node.schema.parse({ metadata: { name: 'w-3' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  const master = cordoned('m', 60, { state: 'Done', labels: { 'node-role.kubernetes.io/master': '' } });
  const nodes = [cordonedByHand, away, well, master, cordoned('w-4', 3)];
  expect(describeWorkers({ progress: '1 of 2 workers', pools: [], stuck: [], nodes })).toBe(
    '1 of 2 workers; node w-1 is cordoned by somebody since 2026-02-01T09:00:00Z: kubectl uncordon w-1; ' +
      'node w-2 is not ready: NodeStatusUnknown: Kubelet stopped posting',
  );
  const many = Array.from({ length: 9 }, (_, index) => cordoned(`w-${index}`, 60, { state: 'Done' }));
  expect(describeWorkers({ progress: '', pools: [], stuck: [], nodes: many })).toMatch(/; 4 more nodes are cordoned or not ready$/);
});

test('all of it stands in one text', () => {
  const degraded = buildPool(
    'worker',
    {},
    {
      degradedMachineCount: 1,
      conditions: [
        { type: 'Degraded', status: 'True', message: '' },
        { type: 'NodeDegraded', status: 'True', message: 'Node w is reporting: "failed to drain node"\n1 times' },
        { type: 'RenderDegraded', status: 'False', message: 'fine' },
      ],
    },
  );
  const stuck = [{ node: cordoned('w', 60), holders: 'pods shop/p (budget b)' }];
  expect(describeWorkers({ progress: '2 of 3 workers', pools: [degraded, paused(0)], stuck })).toBe(
    '2 of 3 workers; node w is not drained since 2026-02-01T09:00:00Z: pods shop/p (budget b); ' +
      'machine config pool worker is degraded (1 machines): Node w is reporting: "failed to drain node" 1 times; ' +
      'paused machine config pools are not waited for: infra',
  );
  expect(describeWorkers({ progress: '2 of 3 workers', pools: [], stuck: [] })).toBe('2 of 3 workers');
});

test('the text is bounded', () => {
  const long = 'x'.repeat(5_000);
  const pools = Array.from({ length: 50 }, (_, index) =>
    buildPool(`p${index}`, {}, { degradedMachineCount: 1, conditions: [{ type: 'NodeDegraded', status: 'True', message: long }] }),
  );
  const stuck = Array.from({ length: 50 }, (_, index) => ({ node: cordoned(`n${index}`, 60), holders: long }));
  expect(describeWorkers({ progress: '0 of 9', pools, stuck }).length).toBeLessThanOrEqual(1_500);
});
