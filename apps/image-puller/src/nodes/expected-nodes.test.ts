import { DEFAULT_NODE_RULES, readNodeRules } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { expectedNodes, type ListedNode } from './expected-nodes.ts';

const NODES: readonly ListedNode[] = [
  { name: 'worker', uid: '1', labels: { zone: 'a' }, taints: [] },
  { name: 'control', uid: '2', labels: {}, taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] },
  { name: 'gpu', uid: '3', labels: { zone: 'a' }, taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] },
  { name: 'cordoned', uid: '4', labels: {}, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
  { name: 'away', uid: '5', labels: {}, taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
  { name: 'shunned', uid: '6', labels: {}, taints: [{ key: 'slow', effect: 'PreferNoSchedule' }] },
];
const rulesOf = (annotations: Record<string, string>) => readNodeRules(annotations).rules;

test.each([
  {
    name: 'all that take pods, the control plane, cordoned and unreachable ones',
    rules: DEFAULT_NODE_RULES,
    want: 'worker control cordoned away shunned',
  },
  { name: 'those with a label', rules: rulesOf({ 'flotilla.io/node-selector': 'zone=a' }), want: 'worker' },
  {
    name: 'those with a taint that is tolerated',
    rules: rulesOf({ 'flotilla.io/node-tolerations': 'gpu=yes' }),
    want: 'worker gpu cordoned away shunned',
  },
  {
    name: 'not those whose taint has another value',
    rules: rulesOf({ 'flotilla.io/node-tolerations': 'gpu=no' }),
    want: 'worker cordoned away shunned',
  },
  {
    name: 'not those whose taint has another effect',
    rules: rulesOf({ 'flotilla.io/node-tolerations': 'gpu:NoExecute' }),
    want: 'worker cordoned away shunned',
  },
])('$name', ({ rules, want }) => {
  expect(
    expectedNodes(NODES, rules)
      .map(({ name }) => name)
      .join(' '),
  ).toBe(want);
});
