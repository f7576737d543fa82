import { OPERATOR_NAME } from '@flotilla/api/managed';
import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { MAX_MONITOR_BYTES, parseJson, QueryAnswer } from '@flotilla/http';
import { expect, test } from 'vitest';
import { SilencesAnswer } from './clients/alertmanager.ts';
import { OcmCluster, OcmPolicyOrProblem, OcmPolicyState, pageOf } from './clients/ocm-answers.ts';
import { alertNames } from './health/alerts.ts';
import { reportedBudgets } from './health/disruption-budgets.ts';
import { createSilences } from './maintenance/silences.ts';
import { byNextRun, isActionable, specOf } from './managers/ocm-policy.ts';
import { stateOf } from './notify/ocm-notifier.ts';
import { readOperatorConfig } from './operator-config/read-config.ts';
import { readGoExpression } from './operator-config/schema.ts';

const CONFIG = {
  upgradeType: 'OSD',
  configManager: { source: 'OCM', ocmBaseUrl: 'https://a.example', localConfigName: 'managed-upgrade-config', watchInterval: 60 },
  validation: { cincinnati: true },
  maintenance: { controlPlaneTime: 90, ignoredAlerts: { controlPlaneCriticals: ['A'] } },
  scale: { timeOut: 30, extraMachinePools: ['a-*', '[a-c]'] },
  nodeDrain: { timeOut: 45, ignoredNamespacePatterns: ['^a.+$'] },
  healthCheck: { ignoredCriticals: ['B'] },
  extDependencyAvailabilityChecks: { http: { timeout: 10, urls: ['https://b.example'] } },
  featureGate: { enabled: ['PreHealthCheck'] },
};
const POLICIES = {
  total: 2,
  items: [
    { id: 'p', version: '4.14.12', next_run: '2026-01-01T00:00:00Z', capacity_reservation: false },
    { id: 'q', version: '4.15.1', next_run: '2026-01-02T00:00:00+02:00' },
  ],
};
const CLUSTER = { id: 'c', version: { channel_group: 'eus' }, node_drain_grace_period: { value: 60, unit: 'minutes' } };
const SAMPLE = 'deployment_validation_operator_pdb_min_available{name="web",namespace="app",check="{}"} 1\n';

const QUERY = {
  status: 'success',
  data: { resultType: 'vector', result: [{ metric: { alertname: 'A', namespace: 'n' }, value: [0, '1'] }] },
};
const SILENCES = [
  {
    id: 'x',
    comment: 'Silence for OSD control plane upgrade to version 4.20.1',
    createdBy: OPERATOR_NAME,
    startsAt: '2026-01-01T00:00:00Z',
    endsAt: '2026-01-02T00:00:00Z',
    status: { state: 'active' },
    matchers: [{ name: 'alertname', value: 'A', isRegex: false }],
  },
  { id: 'y', comment: 'theirs', createdBy: 'somebody', startsAt: '', endsAt: '', status: { state: 'pending' }, matchers: [] },
];
const { signal } = new AbortController();

/** An answer that is nearly right, or as large as one is read. */
function answer(random: RandomValues, right: object, entry: (index: number, text: string) => unknown): string {
  if (!random.chance(0.02)) return json(random, right);
  const text = random.pick(['', 'x', '"\\n'.repeat(20), 'x'.repeat(100_000)]);
  const room = random.below(MAX_MONITOR_BYTES);
  const entries = Array.from({ length: Math.floor(room / JSON.stringify(entry(0, text)).length) }, (_, i) => entry(i, text));
  if (random.chance(0.3)) entries.push({ wrong: true });
  if (random.chance(0.2)) return `[${'[],'.repeat(Math.floor(room / 3))}[]]`;
  return JSON.stringify(Array.isArray(right) ? entries : { ...QUERY, data: { ...QUERY.data, result: entries } });
}

/** YAML by chance: JSON is YAML, and so are anchors that expand. */
function yaml(random: RandomValues): string {
  if (random.chance(0.3)) return random.text(300);
  const text = JSON.stringify(random.mutate(CONFIG));
  if (random.chance(0.2)) return `a: &a ${text}\nb: [${'*a,'.repeat(random.below(300))}*a]`;
  return random.chance(0.3) ? text.slice(0, random.below(text.length)) : text;
}

const json = (random: RandomValues, value: unknown): string => {
  const text = JSON.stringify(random.mutate(value));
  return random.chance(0.2) ? text.slice(0, random.below(text.length)) : text;
};
const what = { what: 'fuzz', status: 200 };

const targets = [
  defineTarget("the upgrade operator's configuration", { make: yaml, run: (text) => readOperatorConfig(text) }),
  defineTarget('expressions of namespaces', {
    make: (random) => ({ pattern: random.mutate('^(?i:team)-[a-z[:digit:]]{1,9}(-\\w+|x)*?$') as unknown, text: random.text(63) }),
    run({ pattern, text }) {
      const read = readGoExpression(typeof pattern === 'string' ? pattern : JSON.stringify(pattern ?? ''));
      if (typeof read !== 'string') read.test(text);
    },
  }),
  defineTarget('policies of OCM', {
    make: (random) => ({
      policies: json(random, POLICIES),
      cluster: json(random, CLUSTER),
      state: json(random, { value: 'delayed', description: 'retry' }),
    }),
    run({ policies, cluster, state }) {
      const { items } = parseJson(pageOf(OcmPolicyOrProblem), policies, what);
      const of = parseJson(OcmCluster, cluster, what);
      const current = parseJson(OcmPolicyState, state, what);
      stateOf(current);
      for (const policy of byNextRun(items)) if (isActionable(policy, current.value)) specOf(policy, of, 'OSD');
    },
  }),
  defineTarget('answers of Prometheus', {
    make: (random) => answer(random, QUERY, (i, text) => ({ metric: { alertname: `A${i}`, text }, value: [0, '1'] })),
    run: (text) => {
      const read = parseJson(QueryAnswer, text, what);
      if (read.status === 'error') return;
      const names = alertNames(read.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) })));
      // An alert that nobody named is none.
      expect(names.filter((name) => !text.includes(JSON.stringify(name).slice(1, -1)))).toEqual([]);
      expect(read.data.result.length).toBe((JSON.parse(text) as typeof QUERY).data.result.length);
    },
  }),
  defineTarget('answers of Alertmanager', {
    make: (random) => answer(random, SILENCES, (i, text) => ({ ...SILENCES[0], id: `${i}`, comment: text })),
    run: async (text) => {
      const silences = parseJson(SilencesAnswer, text, what);
      const put: unknown[] = [];
      const expired: string[] = [];
      const alertmanager = {
        silences: async () => silences,
        put: async (silence: unknown) => String(put.push(silence)),
        expire: async (id: string) => void expired.push(id),
        [Symbol.asyncDispose]: async () => undefined,
      };
      const kept = createSilences(alertmanager, { now: () => 0, setTimer: () => ({ [Symbol.dispose]: () => undefined }) });
      await kept.endControlPlane(signal);
      await kept.endWorkers(signal);
      // Nobody else's silence is ended, however it is written.
      const ours = silences.filter(({ createdBy, status }) => createdBy === OPERATOR_NAME && status.state !== 'expired');
      expect(expired.filter((id) => !ours.some((silence) => silence.id === id))).toEqual([]);
      expect(put).toEqual([]);
    },
  }),
  defineTarget('metrics of the deployment validation operator', {
    make: (random) =>
      random
        .list(200, () => (random.chance(0.5) ? random.text(200) : SAMPLE.slice(0, random.below(200))))
        .join(random.chance(0.5) ? '\n' : ''),
    run: (text) => reportedBudgets(text),
  }),
];

test.each(targets)('$name', async ({ fuzz }) => {
  expect((await fuzz()).cases).toBeGreaterThan(0);
});
