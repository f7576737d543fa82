import { describe, expect, test } from 'vitest';
import { type Json, objectAt, textAt } from '../json-values.ts';
import { builderOf } from './dispatch.ts';
import { conditionOf, numberAt } from './rollout.ts';

/**
 * Waits for workloads beside the criteria of the reference operator (its `checkDeploymentHealth`, `checkDaemonSetHealth` and
 * `checkJobHealth`; it looks at no StatefulSet). It looks once and goes on. In an update this operator waits until a change has arrived, as the
 * documentation of the reference says. While reconciling it judges as the reference does.
 */
type Ours = 'ready' | 'waiting' | 'failed';
type Reference = 'passes' | 'fails';
interface Row {
  readonly name: string;
  readonly state?: 'Initializing' | 'Updating' | 'Reconciling';
  readonly kind?: 'Deployment' | 'DaemonSet' | 'StatefulSet' | 'Job';
  readonly metadata?: Json;
  readonly spec?: Json;
  readonly status: Json;
  readonly ours: Ours;
  readonly reference: Reference;
  /** Why ours differs, by design; absent where it does not. */
  readonly why?: string;
  /** Message of the verdict, where the test compares it. */
  readonly says?: string;
}

const condition = (type: string, status: string, reason: string, message = 'M') => ({ type, status, reason, message });
const available = condition('Available', 'True', 'MinimumReplicasAvailable');
const unavailable = condition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.');
const progressed = condition('Progressing', 'True', 'NewReplicaSetAvailable');
const progressing = condition('Progressing', 'True', 'ReplicaSetUpdated');
const overdue = condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'ReplicaSet "d-1" has timed out progressing.');
const refused = condition('ReplicaFailure', 'True', 'FailedCreate', 'pods "d-1" is forbidden: exceeded quota: q');

/** The status of a Deployment that its controller has seen in its second generation. */
const deployed = (replicas: number, updated: number, ready: number, conditions: readonly Json[] = [available, progressing]): Json => ({
  observedGeneration: 2,
  conditions,
  // a controller leaves zeros out
  ...(replicas > 0 && { replicas }),
  ...(updated > 0 && { updatedReplicas: updated }),
  ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
  ...(replicas > ready && { unavailableReplicas: replicas - ready }),
});
const daemons = (desired: number, updated: number, ready: number): Json => ({
  observedGeneration: 2,
  desiredNumberScheduled: desired,
  currentNumberScheduled: desired,
  ...(updated > 0 && { updatedNumberScheduled: updated }),
  numberReady: ready,
  ...(ready > 0 && { numberAvailable: ready }),
  ...(desired > ready && { numberUnavailable: desired - ready }),
});
const stateful = (replicas: number, updated: number, ready: number): Json => ({
  observedGeneration: 2,
  replicas,
  ...(updated > 0 && { updatedReplicas: updated }),
  ...(ready > 0 && { readyReplicas: ready }),
  availableReplicas: ready,
  currentRevision: 'a',
  updateRevision: updated === replicas ? 'a' : 'b',
});

const WAITS = 'an update goes on when a change has arrived, not when it was written';
const STEADY = 'the conditions of the generation before say nothing about this one';
const rolling = (surge: string | number, down: string | number) => ({
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: surge, maxUnavailable: down } },
});
const recreate = { strategy: { type: 'Recreate' } };

const rows: readonly Row[] = [
  {
    name: 'a Deployment that has arrived',
    spec: { replicas: 3 },
    status: deployed(3, 3, 3, [available, progressed]),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a Deployment whose change its controller has not seen',
    spec: { replicas: 3 },
    status: { ...deployed(3, 3, 3), observedGeneration: 1 },
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: the change has not been seen yet',
  },
  {
    name: 'an overdue Deployment whose next change its controller has not seen',
    spec: { replicas: 3 },
    status: { ...deployed(3, 1, 2, [available, overdue]), observedGeneration: 1 },
    ours: 'waiting',
    reference: 'fails',
    why: STEADY,
  },
  { name: 'a Deployment that was just made', metadata: { generation: 1 }, status: {}, ours: 'ready', reference: 'passes' },
  {
    name: 'Recreate, whose old pods are gone and whose new ones are not made',
    spec: { replicas: 3, ...recreate },
    status: deployed(0, 0, 0, [unavailable, progressing]),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 0 of 3 replicas are updated',
  },
  {
    name: 'Recreate, whose first new pod is made',
    spec: { replicas: 3, ...recreate },
    status: deployed(1, 1, 0, [unavailable, progressing]),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  {
    name: 'Recreate, whose new pods are not available',
    spec: { replicas: 3, ...recreate },
    status: deployed(3, 3, 1, [unavailable, progressing]),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 1 of 3 replicas are available',
  },
  { name: 'Recreate, done', spec: { replicas: 3, ...recreate }, status: deployed(3, 3, 3), ours: 'ready', reference: 'passes' },
  {
    name: 'a scale-up whose pods are not made',
    spec: { replicas: 5 },
    status: deployed(3, 3, 3),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 3 of 5 replicas are updated',
  },
  {
    name: 'a scale-up whose pods are not available',
    spec: { replicas: 5 },
    status: deployed(5, 5, 3),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  {
    name: 'a scale-down whose pods are still there',
    spec: { replicas: 1 },
    status: deployed(3, 3, 3),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 2 old replicas are still there',
  },
  {
    name: 'a surge with old pods beside all the new ones',
    spec: { replicas: 3, ...rolling(1, 0) },
    status: deployed(4, 3, 4),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 1 old replica is still there',
  },
  {
    name: 'a surge of everything at once',
    spec: { replicas: 3, ...rolling('100%', 0) },
    status: deployed(6, 3, 3),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  {
    name: 'all but what maxUnavailable allows',
    spec: { replicas: 4, ...rolling(0, '25%') },
    status: deployed(4, 4, 3),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 3 of 4 replicas are available',
  },
  {
    name: 'half of the pods under maxUnavailable',
    spec: { replicas: 4, ...rolling(0, 2) },
    status: deployed(4, 2, 2),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  { name: 'no replicas wanted and none there', spec: { replicas: 0 }, status: deployed(0, 0, 0), ours: 'ready', reference: 'passes' },
  {
    name: 'no replicas wanted and one there',
    spec: { replicas: 0 },
    status: deployed(1, 1, 1),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  { name: 'no word of replicas, which is one, and it is there', status: deployed(1, 1, 1), ours: 'ready', reference: 'passes' },
  {
    name: 'no word of replicas, and none is there',
    status: deployed(0, 0, 0),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'deployment ns/d is rolling out: 0 of 1 replicas are updated',
  },
  {
    name: 'a paused Deployment, which the release wants so',
    spec: { replicas: 3, paused: true },
    status: deployed(3, 0, 3),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'replicas that an autoscaler has raised in between',
    metadata: { generation: 3 },
    spec: { replicas: 8 },
    status: { ...deployed(3, 3, 3), observedGeneration: 3 },
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  {
    name: 'replicas that an autoscaler has raised, and that are there',
    metadata: { generation: 3 },
    spec: { replicas: 8 },
    status: { ...deployed(8, 8, 8), observedGeneration: 3 },
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'pods that the server refuses to make',
    spec: { replicas: 3 },
    status: deployed(2, 0, 2, [available, progressing, refused]),
    ours: 'failed',
    reference: 'fails',
    says: 'deployment ns/d has a replica failure FailedCreate: pods "d-1" is forbidden: exceeded quota: q',
  },
  {
    name: 'a Deployment over its deadline',
    spec: { replicas: 3 },
    status: deployed(3, 1, 2, [available, overdue]),
    ours: 'failed',
    reference: 'fails',
  },
  {
    name: 'a Deployment that is neither available nor getting on',
    spec: { replicas: 3 },
    status: deployed(3, 0, 0, [unavailable, condition('Progressing', 'False', 'DeploymentPaused')]),
    ours: 'failed',
    reference: 'fails',
  },
  {
    name: 'a Deployment that is being deleted',
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
    spec: { replicas: 1 },
    status: deployed(1, 1, 1),
    ours: 'failed',
    reference: 'fails',
  },
  {
    name: 'a Deployment while a cluster is installed',
    state: 'Initializing',
    metadata: { generation: 9 },
    status: {},
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'one of ten nodes away, in a cluster that is as it should be',
    state: 'Reconciling',
    spec: { replicas: 10 },
    status: deployed(10, 10, 9, [available, progressed]),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'the only pod restarting, in a cluster that is as it should be',
    state: 'Reconciling',
    spec: { replicas: 1 },
    status: deployed(1, 1, 0, [unavailable, progressed]),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'what drifted and was put back rolling out, in a cluster that is as it should be',
    state: 'Reconciling',
    spec: { replicas: 3 },
    status: { ...deployed(3, 3, 3), observedGeneration: 1 },
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a Deployment over its deadline, in a cluster that is as it should be',
    state: 'Reconciling',
    spec: { replicas: 3 },
    status: deployed(3, 1, 2, [available, overdue]),
    ours: 'failed',
    reference: 'fails',
  },
  { name: 'a DaemonSet that has arrived', kind: 'DaemonSet', status: daemons(3, 3, 3), ours: 'ready', reference: 'passes' },
  {
    name: 'a DaemonSet on some nodes',
    kind: 'DaemonSet',
    status: daemons(5, 3, 4),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'daemonset ns/d is rolling out: 3 of 5 nodes are updated',
  },
  {
    name: 'a DaemonSet that is updated and not available',
    kind: 'DaemonSet',
    status: daemons(5, 5, 4),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'daemonset ns/d is rolling out: it is available on 4 of 5 nodes',
  },
  { name: 'a DaemonSet for no node', kind: 'DaemonSet', status: daemons(0, 0, 0), ours: 'ready', reference: 'passes' },
  {
    name: 'a DaemonSet whose pods are replaced by hand',
    kind: 'DaemonSet',
    spec: { updateStrategy: { type: 'OnDelete' } },
    status: daemons(5, 1, 5),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a DaemonSet with a node away, in a cluster that is as it should be',
    kind: 'DaemonSet',
    state: 'Reconciling',
    status: daemons(10, 10, 9),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a DaemonSet with a new node, in a cluster that is as it should be',
    kind: 'DaemonSet',
    state: 'Reconciling',
    status: daemons(11, 10, 10),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a StatefulSet that has arrived',
    kind: 'StatefulSet',
    spec: { replicas: 3 },
    status: stateful(3, 3, 3),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a StatefulSet whose last pod is not replaced',
    kind: 'StatefulSet',
    spec: { replicas: 3 },
    status: stateful(3, 2, 3),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
    says: 'statefulset ns/d is rolling out: 2 of 3 replicas are updated',
  },
  {
    name: 'a StatefulSet whose replaced pod is not available',
    kind: 'StatefulSet',
    spec: { replicas: 3 },
    status: stateful(3, 3, 2),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  {
    name: 'a StatefulSet with all pods above its partition replaced',
    kind: 'StatefulSet',
    spec: { replicas: 3, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } },
    status: stateful(3, 1, 3),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a StatefulSet whose pods are replaced by hand',
    kind: 'StatefulSet',
    spec: { replicas: 3, updateStrategy: { type: 'OnDelete' } },
    status: stateful(3, 0, 3),
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a StatefulSet that scales up',
    kind: 'StatefulSet',
    spec: { replicas: 5 },
    status: stateful(4, 4, 4),
    ours: 'waiting',
    reference: 'passes',
    why: WAITS,
  },
  {
    name: 'a StatefulSet that was just made',
    kind: 'StatefulSet',
    metadata: { generation: 1 },
    spec: { replicas: 3 },
    status: {},
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a StatefulSet with a pod away, in a cluster that is as it should be',
    kind: 'StatefulSet',
    state: 'Reconciling',
    spec: { replicas: 3 },
    status: stateful(3, 3, 2),
    ours: 'ready',
    reference: 'passes',
  },
  { name: 'a Job that runs, in an update', kind: 'Job', status: { active: 1 }, ours: 'waiting', reference: 'passes', why: WAITS },
  {
    name: 'a Job that was made again, in a cluster that is as it should be',
    kind: 'Job',
    state: 'Reconciling',
    status: { active: 1 },
    ours: 'ready',
    reference: 'passes',
  },
  {
    name: 'a Job that failed, in a cluster that is as it should be',
    kind: 'Job',
    state: 'Reconciling',
    status: { failed: 7, conditions: [condition('Failed', 'True', 'BackoffLimitExceeded')] },
    ours: 'failed',
    reference: 'fails',
  },
];

/** The criteria of the reference, in a few lines. */
function referenceOf({ kind = 'Deployment', state = 'Updating', metadata, status }: Row): Reference {
  if (state === 'Initializing' || kind === 'StatefulSet') return 'passes';
  if (kind === 'Job')
    return numberAt(status.succeeded) === 0 && numberAt(status.active) === 0 && numberAt(status.failed) > 0 ? 'fails' : 'passes';
  if (metadata?.deletionTimestamp) return 'fails';
  if (kind === 'DaemonSet') return 'passes';
  const is = (type: string, wanted: string) => conditionOf(status, type)?.status === wanted;
  const isOver = is('Progressing', 'False') && textAt(objectAt(conditionOf(status, 'Progressing')).reason) === 'ProgressDeadlineExceeded';
  return is('ReplicaFailure', 'True') || (is('Available', 'False') && is('Progressing', 'False')) || isOver ? 'fails' : 'passes';
}

const sameAs: Readonly<Record<Ours, Reference>> = { ready: 'passes', waiting: 'passes', failed: 'fails' };

describe('a wait', () => {
  test.each(rows)('$name: $ours, where the reference $reference', (row) => {
    const { kind = 'Deployment', state = 'Updating', metadata, spec = {}, status, ours, reference, why, says } = row;
    const builder = builderOf({ group: kind === 'Job' ? 'batch' : 'apps', version: 'v1', kind });
    const live = { metadata: { name: 'd', namespace: 'ns', generation: 2, ...metadata }, spec, status };
    const verdict = builder.judge?.(live, { state, degradedBlocks: true });
    expect(verdict?.is).toBe(ours);
    expect(reference).toBe(referenceOf(row));
    const isSame = ours !== 'waiting' && sameAs[ours] === reference;
    expect(why !== undefined).toBe(!isSame);
    if (says) expect(verdict && 'error' in verdict && verdict.error.message).toBe(says);
  });

  test('is beside the criteria of the reference in forty cases and more', () => expect(rows.length).toBeGreaterThanOrEqual(40));
});
