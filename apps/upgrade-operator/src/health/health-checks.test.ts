import { ClusterOperator } from '@flotilla/api/config';
import { Node } from '@flotilla/api/core';
import { MachineSet } from '@flotilla/api/machine';
import { ServiceError, ServiceErrorCode } from '@flotilla/http';
import { describe, expect, test } from 'vitest';
import { capacity, clusterOperators, cordonedNodes, criticalAlerts, HealthReason, type Problem, pressureTaints } from './checks.ts';
import { type BudgetState, disruptionBudgets, reportedBudgets } from './disruption-budgets.ts';
import { verdictOf } from './health-checks.ts';

const { signal } = new AbortController();
const refusal = (code: ServiceErrorCode) => new ServiceError(code, 'it says no');

describe('critical alerts', () => {
  const config = { healthCheck: { ignoredCriticals: [], ignoredNamespaces: [] } };
  const check = (query: () => Promise<{ labels: Record<string, string>; value: number }[]>) =>
    criticalAlerts({ query }).look({ config }, signal);

  test('none: healthy', async () => expect(await check(async () => [])).toBeUndefined());
  test('some: named once each', async () => {
    const sample = (alertname: string) => ({ labels: { alertname }, value: 1 });
    expect(await check(async () => [sample('A'), sample('B'), sample('A')])).toEqual({
      reason: HealthReason.criticalAlerts,
      message: 'critical alert(s) firing: A, B',
      token: 'CriticalAlertsHealthcheckFailed',
    });
  });
  test('no answer: not healthy', async () => {
    const problem = await check(() => Promise.reject(refusal(ServiceErrorCode.timeout)));
    expect(problem).toMatchObject({ reason: HealthReason.queryFailed, message: 'unable to query critical alerts: it says no' });
  });
});

describe('cluster operators', () => {
  const operator = (name: string, ...conditions: [string, string][]) =>
    ClusterOperator.schema.parse({ metadata: { name }, status: { conditions: conditions.map(([type, status]) => ({ type, status })) } });
  test.each([
    { name: 'well', operators: [operator('a', ['Degraded', 'False'], ['Available', 'True'])], want: undefined },
    { name: 'silent', operators: [ClusterOperator.schema.parse({ metadata: { name: 'a' } }), operator('b')], want: undefined },
    { name: 'unknown', operators: [operator('a', ['Degraded', 'Unknown'], ['Available', 'Unknown'])], want: undefined },
    {
      name: 'degraded or unavailable',
      operators: [operator('a', ['Degraded', 'True']), operator('b', ['Degraded', 'False']), operator('c', ['Available', 'False'])],
      want: 'degraded operators: a, c',
    },
  ])('$name', async ({ operators, want }) => {
    expect((await clusterOperators.look({ cluster: { clusterOperators: operators } }, signal))?.message).toBe(want);
  });
});

test.each([
  { name: 'a worker pool', labels: { 'hive.openshift.io/machine-pool': 'worker' }, want: undefined },
  { name: 'another pool', labels: { 'hive.openshift.io/machine-pool': 'infra' }, want: HealthReason.noWorkerPool },
  { name: 'no label', labels: undefined, want: HealthReason.noWorkerPool },
])('capacity with $name', async ({ labels, want }) => {
  const machineSets = [MachineSet.schema.parse({ metadata: { labels }, spec: {} })];
  expect((await capacity.look({ cluster: { machineSets } }, signal))?.reason).toBe(want);
});

describe('nodes', () => {
  const TAINT = 'node.kubernetes.io/unschedulable';
  const node = (
    name: string,
    { role = 'worker', taints = [] as string[], unschedulable = false, state = 'Done', effect = 'NoSchedule' } = {},
  ) =>
    Node.schema.parse({
      metadata: {
        name,
        labels: Object.fromEntries(role.split(' ').map((each) => [`node-role.kubernetes.io/${each}`, ''])),
        annotations: { 'machineconfiguration.openshift.io/state': state },
      },
      spec: { unschedulable, taints: taints.map((key) => ({ key, effect })) },
    });
  const cordoned = { unschedulable: true, taints: [TAINT] };
  test.each([
    { name: 'free', node: node('n'), want: undefined },
    { name: 'cordoned by hand', node: node('n', cordoned), want: 'NodeUnschedulableHealthcheckFailed:(n)' },
    { name: 'cordoned by the roll-out of its pool', node: node('n', { ...cordoned, state: 'Working' }), want: undefined },
    { name: 'an infra node', node: node('n', { ...cordoned, role: 'worker infra' }), want: undefined },
    { name: 'a master', node: node('n', { ...cordoned, role: 'master' }), want: undefined },
    { name: 'unschedulable without the taint yet', node: node('n', { unschedulable: true }), want: undefined },
    { name: 'tainted to evict alone', node: node('n', { ...cordoned, effect: 'NoExecute' }), want: undefined },
  ])('$name', async ({ node: one, want }) => {
    expect((await cordonedNodes.look({ cluster: { nodes: [one] } }, signal))?.token).toBe(want);
  });

  test('pressures of all nodes, grouped by what is short', async () => {
    const pressure = (kind: string) => `node.kubernetes.io/${kind}-pressure`;
    const nodes = [
      node('a', { taints: [pressure('pid'), pressure('memory')] }),
      node('b', { role: 'master', taints: [pressure('disk')] }),
      node('c', { taints: [pressure('disk')], effect: 'NoExecute' }),
      node('d', { taints: ['mine'] }),
    ];
    expect(await pressureTaints.look({ cluster: { nodes } }, signal)).toEqual({
      reason: HealthReason.nodesTainted,
      message: 'unschedulable taints on nodes: a, b, a',
      token: 'NodeUnschedulableTaintHealthcheckFailed:(a,b,a)',
    });
  });
});

describe('disruption budgets', () => {
  const budget = (spec: BudgetState['spec'], namespace = 'app', expectedPods?: number): BudgetState => ({
    metadata: { name: 'b', namespace },
    spec,
    status: { expectedPods },
  });
  const look = (budgets: BudgetState[], validation: () => Promise<string | undefined> = async () => undefined) =>
    disruptionBudgets({ list: async () => budgets, validation }).look(undefined, signal);

  test.each([
    { name: 'maxUnavailable 0', given: budget({ maxUnavailable: 0 }), wrong: true },
    { name: 'maxUnavailable 0%', given: budget({ maxUnavailable: '0%' }), wrong: true },
    { name: 'maxUnavailable 1', given: budget({ maxUnavailable: 1 }), wrong: false },
    { name: 'minAvailable 100%', given: budget({ minAvailable: '100%' }), wrong: true },
    { name: 'minAvailable 50%', given: budget({ minAvailable: '50%' }), wrong: false },
    { name: 'minAvailable of all its pods', given: budget({ minAvailable: 2 }, 'app', 2), wrong: true },
    { name: 'minAvailable of fewer', given: budget({ minAvailable: 1 }, 'app', 2), wrong: false },
    { name: 'minAvailable without pods', given: budget({ minAvailable: 1 }, 'app', 0), wrong: false },
    { name: 'one of the platform', given: budget({ maxUnavailable: 0 }, 'openshift-monitoring'), wrong: false },
    { name: 'one of logging', given: budget({ maxUnavailable: 0 }, 'openshift-logging'), wrong: true },
    { name: 'one whose namespace only begins alike', given: budget({ maxUnavailable: 0 }, 'openshiftish'), wrong: true },
  ])('$name', async ({ given, wrong }) => {
    expect((await look([given]))?.reason).toBe(wrong ? HealthReason.budgetWrong : undefined);
  });

  test('all that are wrong are named', async () => {
    expect(await look([budget({ maxUnavailable: 0 }), budget({ maxUnavailable: 0 }, 'other')])).toMatchObject({
      message: 'PodDisruptionBudgets let no pod go: app/b, other/b',
      token: 'PDBHealthcheckFailed: [{"Name":"b","Namespace":"app"},{"Name":"b","Namespace":"other"}]',
    });
  });

  test('budgets that cannot be listed are a problem', async () => {
    const sources = { list: () => Promise.reject(new Error('forbidden')), validation: async () => undefined };
    expect(await disruptionBudgets(sources).look(undefined, signal)).toMatchObject({ reason: HealthReason.budgetsUnknown });
  });

  const sample = (value: number, namespace = 'app') =>
    `deployment_validation_operator_pdb_min_available{check="x {y}",name="web",namespace="${namespace}"} ${value}`;
  test.each([
    { name: 'a reported budget', text: sample(1), want: HealthReason.budgetViolated },
    { name: 'one that is fine again', text: sample(0), want: undefined },
    { name: 'one of the platform', text: sample(1, 'openshift-etcd'), want: undefined },
    { name: 'help alone', text: '# HELP deployment_validation_operator_pdb_max_available checks', want: undefined },
    { name: 'nothing', text: '', want: undefined },
  ])('deployment validation with $name', async ({ text, want }) => {
    expect((await look([], async () => `# TYPE x gauge\n${text}\n`))?.reason).toBe(want);
  });

  test('the reported one is named', () => {
    expect(reportedBudgets(sample(1))).toEqual([{ namespace: 'app', name: 'web' }]);
  });

  test.each([
    { code: ServiceErrorCode.notConfigured, want: HealthReason.validationUnreachable },
    { code: ServiceErrorCode.unavailable, want: HealthReason.validationUnknown },
    { code: ServiceErrorCode.timeout, want: HealthReason.validationUnknown },
  ])('deployment validation that fails with $code', async ({ code, want }) => {
    expect(await look([], () => Promise.reject(refusal(code)))).toMatchObject({ reason: want, token: 'PDBHealthcheckFailed: []' });
  });
});

const problem = (token: string): Problem => ({ reason: HealthReason.criticalAlerts, message: `about ${token}`, token });

test.each([
  { name: 'nothing found', blocking: [], advisory: [], want: { blocks: false } },
  { name: 'an advice', blocking: [], advisory: [problem('A')], want: { blocks: false, message: 'about A', tokens: 'A' } },
  {
    name: 'alerts and an advice',
    blocking: [problem('B')],
    advisory: [problem('A')],
    want: { blocks: true, message: 'about B; about A', tokens: 'B,A' },
  },
])('the verdict of $name', ({ blocking, advisory, want }) => expect(verdictOf(blocking, advisory)).toEqual(want));
