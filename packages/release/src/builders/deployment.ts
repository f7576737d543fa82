import { saidText } from '../errors.ts';
import { defined, flagOf, type Json, objectAt, textAt } from '../json-values.ts';
import type { Builder, ObjectVerdict } from './builder.ts';
import { leaveWorkloadSpec } from './leftovers.ts';
import { merged } from './merged.ts';
import { mergePodTemplate } from './pod-template.ts';
import { injectApiServer, injectProxy } from './proxy.ts';
import { isStanding, parked } from './reference-operator.ts';
import { conditionOf, failedWorkload, judgeRollout, numberAt, remainingReplicas, wantedReplicas } from './rollout.ts';

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
    judge: judgeRollout('deployment', { remaining, refused }),
  },
  { spec: leaveWorkloadSpec },
);

function withStrategyDefaults(strategy: unknown): Json {
  const { type = 'RollingUpdate', rollingUpdate, ...rest } = objectAt(strategy);
  if (type !== 'RollingUpdate') return defined({ ...rest, type });
  return { ...rest, type, rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%', ...objectAt(rollingUpdate) } };
}

/** A Deployment that cannot roll out fails at once. */
function refused(live: Json, id: string): ObjectVerdict | undefined {
  const status = objectAt(live.status);
  const fail = (reason: string, message: string) => failedWorkload(live, reason, message);
  const [failure, available, progressing] = ['ReplicaFailure', 'Available', 'Progressing'].map((type) => conditionOf(status, type));
  const saidBy = (condition: Json) => saidText(textAt(condition.message));
  if (failure?.status === 'True')
    return fail('WorkloadNotProgressing', `deployment ${id} has a replica failure ${textAt(failure.reason)}: ${saidBy(failure)}`);
  if (available?.status === 'False' && progressing?.status === 'False') {
    const why = (condition: Json) => `${textAt(condition.reason)} (${saidBy(condition)})`;
    return fail('WorkloadNotAvailable', `deployment ${id} is not available ${why(available)} or progressing ${why(progressing)}`);
  }
  if (progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded')
    return fail('WorkloadNotProgressing', `deployment ${id} is Progressing=False: ProgressDeadlineExceeded: ${saidBy(progressing)}`);
  return undefined;
}

function remaining(live: Json): string | undefined {
  if (objectAt(live.spec).paused === true) return undefined;
  const { replicas, updatedReplicas, availableReplicas } = objectAt(live.status);
  return remainingReplicas({
    wanted: wantedReplicas(live),
    all: numberAt(replicas),
    updated: numberAt(updatedReplicas),
    available: numberAt(availableReplicas),
  });
}
