import { PrecacheState } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { createPrecacheJob } from '../precache/job.ts';
import { RETRY_BUDGET, type StepContext } from './interpret.ts';
import { buildAction, buildPrecacheSettings, buildSpoke, buildView, foundJob, foundNamespace, UPGRADE } from './observation-builders.ts';
import type { Answer, SpokeObservation } from './observe.ts';
import { decide } from './step.ts';

const job = createPrecacheJob(buildPrecacheSettings());
const context: StepContext<PrecacheState> = {
  job,
  upgradeUid: UPGRADE.uid,
  now: 1_000_000,
  deadlineAt: 2_000_000,
  heldBy: undefined,
  holderEnded: false,
  trouble: undefined,
  digest: 'new',
};
const late: StepContext<PrecacheState> = { ...context, now: 2_000_000 };

interface Row {
  readonly name: string;
  readonly from: PrecacheState;
  readonly spoke: Partial<SpokeObservation>;
  readonly context?: StepContext<PrecacheState>;
  readonly to: PrecacheState;
  readonly effects?: readonly string[];
  /** Absent: there is no message. */
  readonly message?: string;
  /** Absent: nothing but a change wakes the spoke. */
  readonly lookAt?: number;
}

const absent: Answer = { kind: 'absent' };
const pending: Answer = { kind: 'pending' };
const unknown: Answer = { kind: 'unknown', message: 'forbidden' };
const failed = (reason: string, message?: string) =>
  foundJob({ failed: 1, conditions: [{ type: 'Failed', status: 'True', reason, ...(message && { message }) }] });
const progress = (message?: string): Answer => {
  const report = {
    phase: 'failed',
    imagesDone: 1,
    imagesTotal: 2,
    bytesDone: 1,
    bytesTotal: 2,
    bytesPerSecond: 0,
    at: '2026-01-01T00:00:00Z',
    message,
  };
  return {
    kind: 'found',
    object: { kind: 'ConfigMap', metadata: { name: 'pre-cache-progress' }, data: { progress: JSON.stringify(report) } },
  };
};
const DENIED = 'failed to handle Create action with err: admission webhook "policy.test" denied the request: no';
const UNREACHABLE =
  'failed to handle Create action with err: Post "https://10.0.0.1:6443/api/v1/namespaces": dial tcp 10.0.0.1:6443: connect: connection refused';
const creationFailed = (message: string, times: number) =>
  new Map([['precache-ns-create', buildAction({ outcome: 'failed', retries: times, refusals: times, message })]]);
const LEFTOVERS = 'waits for ClusterGroupUpgrade ns/other, which has ended and could not yet remove from this cluster what it left there';
const away = 'the cluster is not available; pre-caching goes on when it is';

const rows: Row[] = [
  { name: 'a free spoke', from: 'NotStarted', spoke: {}, to: 'PreparingToStart' },
  {
    name: 'a spoke that another upgrade holds',
    from: 'NotStarted',
    spoke: {},
    context: { ...context, heldBy: 'ns/other' },
    to: 'NotStarted',
    message: 'waits for ClusterGroupUpgrade ns/other, which is pre-caching this cluster',
  },
  {
    name: 'waiting for another upgrade has no deadline',
    from: 'NotStarted',
    spoke: {},
    context: { ...late, heldBy: 'ns/other' },
    to: 'NotStarted',
    message: 'waits for ClusterGroupUpgrade ns/other, which is pre-caching this cluster',
  },
  {
    name: 'a spoke that an upgrade holds which has ended and could not clean it',
    from: 'NotStarted',
    spoke: { available: false },
    context: { ...context, heldBy: 'ns/other', holderEnded: true },
    to: 'NotStarted',
    message: LEFTOVERS,
  },
  {
    name: 'a spoke that an upgrade holds which has ended and is cleaning it',
    from: 'NotStarted',
    spoke: {},
    context: { ...context, heldBy: 'ns/other', holderEnded: true },
    to: 'NotStarted',
    message: 'waits for ClusterGroupUpgrade ns/other, which is pre-caching this cluster',
  },
  {
    name: 'a spoke that is held by what another upgrade left, by the end',
    from: 'NotStarted',
    spoke: { available: false },
    context: { ...late, heldBy: 'ns/other', holderEnded: true },
    to: 'PrecacheTimeout',
    message: `timed out: ${LEFTOVERS}`,
  },
  {
    name: 'a spoke for which the hub cannot write, by the end',
    from: 'NotStarted',
    spoke: {},
    context: { ...late, trouble: 'cannot go on: the namespace is terminating' },
    to: 'PrecacheTimeout',
    message: 'timed out: cannot go on: the namespace is terminating',
  },
  {
    name: 'a spoke that got nowhere, by the end',
    from: 'NotStarted',
    spoke: {},
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: the cluster gave no verdict',
  },
  {
    name: 'a free spoke with an absent namespace at once',
    from: 'NotStarted',
    spoke: { namespaceView: buildView(absent) },
    to: 'Starting',
  },

  {
    name: 'a spoke whose annotations cannot be used',
    from: 'NotStarted',
    spoke: {},
    context: { ...context, problem: 'annotation x is "/"' },
    to: 'NotStarted',
    message: 'annotation x is "/"',
  },
  {
    name: 'annotations that became useless once the job was there',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ succeeded: 1 })) },
    context: { ...context, problem: 'annotation x is "/"' },
    to: 'Succeeded',
  },
  {
    name: 'a job without a pod for less than 30 s',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({}), { createdAt: 970_001 }) },
    to: 'Starting',
    lookAt: 1_000_001,
    message: 'job pre-cache has no running pod yet',
  },
  {
    name: 'a job without a pod for 30 s',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({}), { createdAt: 970_000 }) },
    to: 'Starting',
    message:
      'job pre-cache has had no pod for 30 s: the cluster refuses to create it (FailedCreate), by a quota or an admission policy, or because it has SecurityContextConstraints and its ManagedCluster neither label vendor=OpenShift nor the claims that say so; see kubectl -n openshift-talo-pre-cache get pods,events on the cluster',
  },
  {
    name: 'a pod that has not run for less than 2 min',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 0 }), { createdAt: 880_001 }) },
    to: 'Active',
    lookAt: 1_000_001,
  },
  {
    name: 'a pod that has not run for 2 min',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 0 }), { createdAt: 880_000 }) },
    to: 'Active',
    message:
      'the pod of job pre-cache has not been running for 2 min (Pending, ContainerCreating or ImagePullBackOff): no room on the node, an image that cannot be pulled, or a host path that the node does not have; see kubectl -n openshift-talo-pre-cache get pods,events on the cluster',
  },
  {
    name: 'a pod that runs',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 1 })) },
    to: 'Active',
  },
  {
    name: 'a pod of a server that does not count those that run',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1 })) },
    to: 'Active',
  },
  {
    name: 'a pod that has reported and ends now',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 0 })), progressView: buildView(progress()) },
    to: 'Active',
  },

  { name: 'no view yet', from: 'PreparingToStart', spoke: {}, to: 'PreparingToStart' },
  { name: 'no answer yet', from: 'PreparingToStart', spoke: { namespaceView: buildView(pending) }, to: 'PreparingToStart' },
  {
    name: 'no answer, and the spoke is away',
    from: 'PreparingToStart',
    spoke: { available: false },
    to: 'PreparingToStart',
    message: away,
  },
  { name: 'namespace absent', from: 'PreparingToStart', spoke: { namespaceView: buildView(absent) }, to: 'Starting' },
  {
    name: 'namespace absent, says a view of another upgrade',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(absent, { ours: false }) },
    to: 'PreparingToStart',
  },
  {
    name: 'namespace of an earlier attempt',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(foundNamespace({ annotations: { 'flotilla.io/upgrade-uid': 'uid-0' } })) },
    to: 'PreparingToStart',
    effects: ['requestCleanup'],
    message: 'removing what an earlier attempt left on the cluster',
  },
  {
    name: 'namespace without our annotation',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(foundNamespace()) },
    to: 'PreparingToStart',
    effects: ['requestCleanup'],
    message: 'removing what an earlier attempt left on the cluster',
  },
  {
    name: 'namespace of an earlier attempt on a spoke that is away',
    from: 'PreparingToStart',
    spoke: { available: false, namespaceView: buildView(foundNamespace()) },
    to: 'PreparingToStart',
    message: away,
  },
  {
    name: 'namespace of this very attempt',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(foundNamespace({ annotations: { 'flotilla.io/upgrade-uid': UPGRADE.uid } })) },
    to: 'Starting',
  },
  {
    name: 'namespace of this very attempt that is going',
    from: 'PreparingToStart',
    spoke: {
      namespaceView: buildView(
        foundNamespace({ annotations: { 'flotilla.io/upgrade-uid': UPGRADE.uid }, deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ),
    },
    to: 'PreparingToStart',
    effects: ['requestCleanup'],
    message: 'removing what an earlier attempt left on the cluster',
  },
  {
    name: 'namespace cannot be read',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(unknown) },
    to: 'PreparingToStart',
    message: 'cannot see namespace on the cluster: forbidden',
  },
  {
    name: 'prepared by the very end',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(absent) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: the cluster gave no verdict',
  },
  {
    name: 'no answer by the end',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(pending) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: the cluster gave no verdict',
  },
  {
    name: 'away by the end',
    from: 'PreparingToStart',
    spoke: { available: false, namespaceView: buildView(pending) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: the cluster is not available',
  },
  {
    name: 'a namespace that never goes',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(foundNamespace()) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: removing what an earlier attempt left on the cluster',
  },

  ...(['PreparingToStart', 'Starting', 'Active'] as const).flatMap((from): Row[] => {
    const over = { from, to: 'PreparingToStart', effects: ['startOver'], message: 'the spec has changed: starting over' } as const;
    return [
      { ...over, name: 'a view from before the spec was edited', spoke: { namespaceView: buildView(absent, { digest: 'old' }) } },
      {
        ...over,
        name: 'an action from before the spec was edited',
        spoke: { namespaceView: buildView(absent), actions: new Map([['precache-spec-cm-create', buildAction({ digest: 'old' })]]) },
        context: late,
      },
    ];
  }),
  ...(['Starting', 'Active'] as const).map(
    (from): Row => ({
      from,
      name: 'a job that does what the spec wanted before it was edited',
      spoke: { jobView: buildView(foundJob({ succeeded: 1 }, { 'flotilla.io/spec-digest': 'old' })) },
      to: 'PreparingToStart',
      effects: ['startOver'],
      message: 'the spec has changed: starting over',
    }),
  ),
  {
    name: 'a job that does what the spec wants',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ succeeded: 1 }, { 'flotilla.io/spec-digest': 'new' }), { digest: 'new' }) },
    to: 'Succeeded',
  },
  {
    name: 'namespace of this very upgrade, from before the spec was edited',
    from: 'PreparingToStart',
    spoke: {
      namespaceView: buildView(
        foundNamespace({ annotations: { 'flotilla.io/upgrade-uid': UPGRADE.uid, 'flotilla.io/spec-digest': 'old' } }),
      ),
    },
    to: 'PreparingToStart',
    effects: ['requestCleanup'],
    message: 'removing what an earlier attempt left on the cluster',
  },
  {
    name: 'what was edited does not matter while another upgrade has the spoke',
    from: 'NotStarted',
    spoke: { namespaceView: buildView(absent, { digest: 'old' }) },
    context: { ...context, heldBy: 'ns/other' },
    to: 'NotStarted',
    message: 'waits for ClusterGroupUpgrade ns/other, which is pre-caching this cluster',
  },

  { name: 'nothing reported', from: 'Starting', spoke: {}, to: 'Starting' },
  { name: 'nothing reported, and the spoke is away', from: 'Starting', spoke: { available: false }, to: 'Starting', message: away },
  { name: 'a job view without an answer', from: 'Starting', spoke: { jobView: buildView(pending) }, to: 'Starting' },
  {
    name: 'a job view of another upgrade',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({ succeeded: 1 }), { ours: false }) },
    to: 'Starting',
  },
  { name: 'a job that is not there (yet)', from: 'Starting', spoke: { jobView: buildView(absent) }, to: 'Starting' },
  {
    name: 'a job with an empty status',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({}), { createdAt: 999_000 }) },
    lookAt: 1_029_000,
    to: 'Starting',
    message: 'job pre-cache has no running pod yet',
  },
  {
    name: 'a job without a status',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob(undefined), { createdAt: 999_000 }) },
    lookAt: 1_029_000,
    to: 'Starting',
    message: 'job pre-cache has no running pod yet',
  },
  {
    name: 'a job with a status of a wrong type',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({ active: 'one' })) },
    to: 'Starting',
    message: 'the status of job pre-cache is malformed',
  },
  {
    name: 'a job that cannot be read',
    from: 'Starting',
    spoke: { jobView: buildView(unknown) },
    to: 'Starting',
    message: 'cannot see job pre-cache on the cluster: forbidden',
  },
  { name: 'job active', from: 'Starting', spoke: { jobView: buildView(foundJob({ active: 1 })) }, to: 'Active' },
  {
    name: 'job active on a spoke that went away',
    from: 'Starting',
    spoke: { available: false, jobView: buildView(foundJob({ active: 1 })) },
    to: 'Active',
    message: 'the cluster is not available; last seen pulling',
  },
  { name: 'job succeeded', from: 'Starting', spoke: { jobView: buildView(foundJob({ succeeded: 1 })) }, to: 'Succeeded' },
  {
    name: 'job failed',
    from: 'Starting',
    spoke: { jobView: buildView(failed('BackoffLimitExceeded', 'limit')) },
    to: 'UnrecoverableError',
    message: 'limit',
  },
  {
    name: 'job at its deadline',
    from: 'Starting',
    spoke: { jobView: buildView(failed('DeadlineExceeded', 'too long')) },
    to: 'PrecacheTimeout',
    message: 'timed out: too long',
  },
  {
    name: 'an action that failed once',
    from: 'Starting',
    spoke: { actions: new Map([['precache-ns-create', buildAction({ outcome: 'failed', message: DENIED })]]) },
    to: 'Starting',
  },
  {
    name: 'an action that was refused less often than the budget',
    from: 'Starting',
    spoke: { actions: creationFailed(DENIED, RETRY_BUDGET - 1) },
    to: 'Starting',
    message: `precache-ns-create: ${DENIED}`,
  },
  {
    name: 'an action that was refused as often as the budget',
    from: 'Starting',
    spoke: { actions: creationFailed(DENIED, RETRY_BUDGET) },
    to: 'UnrecoverableError',
    message: `precache-ns-create: ${DENIED}`,
  },
  {
    name: 'an action that never reached the API server of the spoke',
    from: 'Starting',
    spoke: { actions: creationFailed(UNREACHABLE, RETRY_BUDGET) },
    to: 'Starting',
    message: `precache-ns-create: ${UNREACHABLE}`,
  },
  {
    name: 'an action that never reached the API server of the spoke by the end',
    from: 'Starting',
    spoke: { actions: creationFailed(UNREACHABLE, RETRY_BUDGET) },
    context: late,
    to: 'PrecacheTimeout',
    message: `timed out: precache-ns-create: ${UNREACHABLE}`,
  },
  {
    name: 'an action that was refused for the first time after a long outage',
    from: 'Starting',
    spoke: {
      actions: new Map([['precache-ns-create', buildAction({ outcome: 'failed', retries: 20, refusals: 0, message: DENIED })]]),
    },
    to: 'Starting',
    message: `precache-ns-create: ${DENIED}`,
  },
  {
    name: 'an action of another upgrade that failed',
    from: 'Starting',
    spoke: {
      actions: new Map([['precache-ns-create', buildAction({ ours: false, outcome: 'failed', retries: 9, refusals: 9, message: DENIED })]]),
    },
    to: 'Starting',
  },
  {
    name: 'a job that vanished as often as the budget',
    from: 'Starting',
    spoke: {
      jobView: buildView(absent),
      actions: new Map([['precache-job-create', buildAction({ retries: RETRY_BUDGET, refusals: RETRY_BUDGET })]]),
    },
    to: 'UnrecoverableError',
    message: 'job pre-cache disappears from the cluster as soon as it is created',
  },
  {
    name: 'a job that is not there after its action was sent anew for an outage',
    from: 'Starting',
    spoke: { jobView: buildView(absent), actions: new Map([['precache-job-create', buildAction({ retries: 20 })]]) },
    to: 'Starting',
  },
  {
    name: 'no verdict by the end',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({}), { createdAt: 1_999_000 }) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: job pre-cache has no running pod yet',
  },
  {
    name: 'success at the very end still counts',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({ succeeded: 1 })) },
    context: late,
    to: 'Succeeded',
  },
  {
    name: 'failure at the very end still counts',
    from: 'Starting',
    spoke: { jobView: buildView(failed('BackoffLimitExceeded')) },
    context: late,
    to: 'UnrecoverableError',
    message: 'BackoffLimitExceeded',
  },

  { name: 'still active', from: 'Active', spoke: { jobView: buildView(foundJob({ active: 1 })) }, to: 'Active' },
  {
    name: 'still active by what was last seen',
    from: 'Active',
    spoke: { available: false, jobView: buildView(foundJob({ active: 1 })) },
    to: 'Active',
    message: 'the cluster is not available; last seen pulling',
  },
  { name: 'active, but the view is gone', from: 'Active', spoke: {}, to: 'Active' },
  { name: 'active, but the new view has no answer', from: 'Active', spoke: { jobView: buildView(pending) }, to: 'Active' },
  {
    name: 'active, and the view is of another upgrade',
    from: 'Active',
    spoke: { jobView: buildView(absent, { ours: false }) },
    to: 'Active',
  },
  {
    name: 'active, and the agent may not read',
    from: 'Active',
    spoke: { jobView: buildView(unknown) },
    to: 'Active',
    message: 'cannot see job pre-cache on the cluster: forbidden',
  },
  {
    name: 'between two pods',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ ready: 0 })) },
    to: 'Active',
    message: 'job pre-cache has no running pod yet',
  },
  { name: 'succeeded', from: 'Active', spoke: { jobView: buildView(foundJob({ succeeded: 1 })) }, to: 'Succeeded' },
  {
    name: 'failed, and the puller says why',
    from: 'Active',
    spoke: { jobView: buildView(failed('BackoffLimitExceeded', 'limit')), progressView: buildView(progress('no space left')) },
    to: 'UnrecoverableError',
    message: 'no space left',
  },
  {
    name: 'failed, and the puller says nothing',
    from: 'Active',
    spoke: { jobView: buildView(failed('BackoffLimitExceeded', 'limit')), progressView: buildView(progress()) },
    to: 'UnrecoverableError',
    message: 'limit',
  },
  {
    name: 'failed for a reason nobody knows',
    from: 'Active',
    spoke: { jobView: buildView(failed('SomethingNew')) },
    to: 'UnrecoverableError',
    message: 'SomethingNew',
  },
  {
    name: 'deadline',
    from: 'Active',
    spoke: { jobView: buildView(failed('DeadlineExceeded', 'too long')) },
    to: 'PrecacheTimeout',
    message: 'timed out: too long',
  },
  {
    name: 'job deleted by somebody',
    from: 'Active',
    spoke: { jobView: buildView(absent) },
    to: 'UnrecoverableError',
    message: 'job pre-cache was deleted from the cluster',
  },
  {
    name: 'active past the end',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1 })) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: the cluster gave no verdict',
  },
  {
    name: 'away past the end',
    from: 'Active',
    spoke: { available: false, jobView: buildView(foundJob({ active: 1 })) },
    context: late,
    to: 'PrecacheTimeout',
    message: 'timed out: the cluster is not available',
  },
];

describe('decide', () => {
  test.each(rows)('$from, $name: $to', ({ from, spoke, to, effects = [], message, lookAt, context: given = context }) => {
    expect(decide(from, buildSpoke(spoke), given)).toEqual({ state: to, message, lookAt, effects });
  });

  test('every state and every state reached is in the table', () => {
    const seen = new Set(rows.flatMap(({ from, to }) => [from, to]));
    expect([...seen].sort()).toEqual([...PrecacheState.options].sort());
  });

  const answers: Answer[] = [
    absent,
    pending,
    unknown,
    foundNamespace(),
    foundJob({ active: 1 }),
    foundJob({ succeeded: 1 }),
    failed('DeadlineExceeded'),
  ];
  test.each(['Succeeded', 'PrecacheTimeout', 'UnrecoverableError'] as const)('%s stays, whatever is seen', (state) => {
    for (const answer of answers)
      for (const available of [true, false])
        for (const given of [context, late]) {
          const view = buildView(answer);
          const spoke = buildSpoke({ available, namespaceView: view, jobView: view, progressView: view });
          expect(decide(state, spoke, given)).toEqual({ state, message: undefined, effects: [] });
        }
  });
});
