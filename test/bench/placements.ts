// npm run bench:placements -- [--clusters 5000]: cost of comparing the decisions of a Placement with its members
import { parseArgs } from 'node:util';
import { Placement, PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { judgePlacements, planPlacements } from '@flotilla/rollout';
import { median, percentile, round } from './statistics.ts';

const { values } = parseArgs({ options: { clusters: { type: 'string', default: '5000' } } });
const COUNT = Number(values.clusters);
/** The placement controller puts as many clusters into one object. */
const A_DECISION = 100;
const PASSES = 200;

const names = Array.from({ length: COUNT }, (_, index) => `spoke-${String(index).padStart(5, '0')}`);
const policy = { name: 'policy', namespace: 'policies' };
const progress = Object.fromEntries(names.map((name) => [name, { state: 'InProgress', policyIndex: 0 }]));
const time = '2026-01-01T00:00:00Z';
const upgrade = ClusterGroupUpgrade.schema.parse({
  metadata: { name: 'upgrade', namespace: 'fleet', uid: 'uid-1', annotations: {} },
  status: {
    conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: time }],
    managedPoliciesForUpgrade: [policy],
    status: { currentBatch: 1, currentBatchRemediationProgress: progress },
  },
});
const decisions = Array.from({ length: Math.ceil(COUNT / A_DECISION) }, (_, index) =>
  PlacementDecision.schema.parse({
    metadata: { name: `placement-decision-${index}`, namespace: policy.namespace, uid: `uid-${index}`, resourceVersion: '1' },
    status: {
      decisions: names.slice(index * A_DECISION, (index + 1) * A_DECISION).map((clusterName) => ({ clusterName, reason: '' })),
    },
  }),
);
const decided = (): ReadonlySet<string> =>
  new Set(decisions.flatMap(({ status }) => status?.decisions?.map(({ clusterName }) => clusterName) ?? []));
const none = { bindings: [], decided, hasNamesake: () => false };
const stored = (object: object): object => ({ ...object, status: { numberOfSelectedClusters: COUNT, conditions: [] } });
const [created] = planPlacements(upgrade, [policy], { ...none, placements: [] });
if (created?.verb !== 'create') throw new Error('no Placement is planned');
const placement = Placement.schema.parse(stored(created.object));
placement.metadata.resourceVersion = '1';

/** CPU milliseconds of each of many passes, the first ones left out. */
function measure(pass: () => void): string {
  const costs = Array.from({ length: PASSES }, () => {
    const before = process.cpuUsage();
    pass();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  }).slice(PASSES / 4);
  return `median ${round(median(costs), 2)} ms, p99 ${round(percentile(costs, 0.99), 2)} ms`;
}

const [bound] = planPlacements(upgrade, [policy], { ...none, placements: [placement] });
if (bound?.verb !== 'create' || bound.kind !== PlacementBinding) throw new Error('the decisions are the members, and nothing is bound');
const facts = { cluster: () => undefined, decided, isPlanned: () => true, talmStrict: false, sightings: { since: () => 0 }, now: 1 };
const bytes = (objects: readonly object[]): number => objects.reduce((sum, object) => sum + JSON.stringify(object).length, 0);
process.stdout.write(`${COUNT} clusters, ${decisions.length} PlacementDecisions, ${PASSES} passes of one policy
the set of the decisions: ${measure(decided)} of CPU
planning with it, until the binding: ${measure(() => planPlacements(upgrade, [policy], { ...none, placements: [placement] }))}
judging with it: ${measure(() => judgePlacements([placement], facts))}
bytes by the watch, once: ${bytes(decisions)} of decisions, ${bytes([placement])} of the Placement
`);
