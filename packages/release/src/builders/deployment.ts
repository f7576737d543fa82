import { UpdateError } from '../graph/update-error.ts';
import { type Builder, type Judging, type ObjectVerdict, ready } from './builder.ts';
import { leaveWorkloadSpec } from './leftovers.ts';
import { merged } from './merged.ts';
import { mergePodTemplate } from './pod-template.ts';
import { injectApiServer, injectProxy } from './proxy.ts';
import { isStanding, parked } from './reference-operator.ts';
import { conditionOf, isBehind, numberAt, rollingOut, workloadId } from './rollout.ts';
import { defined, flagOf, type Json, objectAt, textAt } from './values.ts';

/** Deployments (spec/cvo 3.6, 3.8); scaling by hand is undone. */
export const deployment: Builder = merged(
  (live, built) => {
    const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
    return {
      spec: defined({
        ...before,
        replicas: next.replicas ?? 1,
        selector: next.selector,
        paused: flagOf(next.paused),
        minReadySeconds: next.minReadySeconds === 0 ? undefined : next.minReadySeconds,
        strategy: withStrategyDefaults(next.strategy),
        template: mergePodTemplate(before.template, next.template),
        revisionHistoryLimit: next.revisionHistoryLimit ?? before.revisionHistoryLimit,
        progressDeadlineSeconds: next.progressDeadlineSeconds ?? before.progressDeadlineSeconds,
      }),
    };
  },
  {
    build: (manifest, context) => {
      const object = injectProxy(manifest, context);
      return isStanding(object) ? parked(injectApiServer(object, context)) : object;
    },
    judge,
  },
  { spec: leaveWorkloadSpec },
);

function withStrategyDefaults(strategy: unknown): Json {
  const { type = 'RollingUpdate', rollingUpdate, ...rest } = objectAt(strategy);
  if (type !== 'RollingUpdate') return defined({ ...rest, type });
  return { ...rest, type, rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%', ...objectAt(rollingUpdate) } };
}

/** What cannot roll out fails at once; what rolls out is waited for, but for its first generation. */
function judge(live: Json, { state }: Judging): ObjectVerdict {
  if (state === 'Initializing') return ready;
  const id = workloadId(live);
  const fail = (reason: string, message: string): ObjectVerdict => ({
    is: 'failed',
    error: new UpdateError({ reason, message, names: [id] }),
  });
  const status = objectAt(live.status);
  if (objectAt(live.metadata).deletionTimestamp) return fail('WorkloadNotAvailable', `deployment ${id} is being deleted`);
  const [failure, available, progressing] = ['ReplicaFailure', 'Available', 'Progressing'].map((type) => conditionOf(status, type));
  if (failure?.status === 'True')
    return fail('WorkloadNotProgressing', `deployment ${id} has a replica failure ${textAt(failure.reason)}: ${textAt(failure.message)}`);
  if (available?.status === 'False' && progressing?.status === 'False') {
    const why = (condition: Json) => `${textAt(condition.reason)} (${textAt(condition.message)})`;
    return fail('WorkloadNotAvailable', `deployment ${id} is not available ${why(available)} or progressing ${why(progressing)}`);
  }
  if (progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded')
    return fail(
      'WorkloadNotProgressing',
      `deployment ${id} is Progressing=False: ProgressDeadlineExceeded: ${textAt(progressing.message)}`,
    );
  return rolledOut(live, id, status);
}

function rolledOut(live: Json, id: string, status: Json): ObjectVerdict {
  if (numberAt(objectAt(live.metadata).generation) <= 1 || objectAt(live.spec).paused === true) return ready;
  if (isBehind(live)) return rollingOut('deployment', id, 'the change has not been seen yet');
  const [all, updated, unavailable] = [status.replicas, status.updatedReplicas, status.unavailableReplicas].map(numberAt);
  if (updated !== all) return rollingOut('deployment', id, `${updated} of ${all} replicas are updated`);
  return unavailable === 0 ? ready : rollingOut('deployment', id, `${unavailable} of ${all} replicas are not available`);
}
