import { REFERENCE_OPERATOR, VERSION_NAMESPACE } from '@flotilla/api/config';
import { saidText } from '../errors.ts';
import { defined, flagOf, type Json, objectAt, textAt } from '../json-values.ts';
import type { Builder, ObjectVerdict } from './builder.ts';
import { generic } from './generic.ts';
import { leaveWorkloadSpec } from './leftovers.ts';
import { merged } from './merge.ts';
import { mergePodTemplate } from './pod-template.ts';
import { injectApiServer, injectProxy } from './proxy.ts';
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
    judge: judgeRollout('deployment', { remaining: ofDeployment, refused }),
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

function ofDeployment(live: Json): string | undefined {
  if (objectAt(live.spec).paused === true) return undefined;
  const { replicas, updatedReplicas, availableReplicas } = objectAt(live.status);
  return remainingReplicas({
    wanted: wantedReplicas(live),
    all: numberAt(replicas),
    updated: numberAt(updatedReplicas),
    available: numberAt(availableReplicas),
  });
}

/** Label of a Deployment that runs this operator and not the reference's. */
const OURS = 'flotilla.io/version-operator';

/** True for the Deployment of the reference operator, which a payload brings along. */
function isStanding(deployment: Json): boolean {
  const { namespace, name, labels } = objectAt(deployment.metadata);
  return namespace === VERSION_NAMESPACE && name === REFERENCE_OPERATOR && objectAt(labels)[OURS] !== 'true';
}

/** The Deployment with nothing running: two operators would undo each other's work. */
const parked = (deployment: Json): Json => ({ ...deployment, spec: { ...objectAt(deployment.spec), replicas: 0 } });

/** DaemonSets (spec/cvo 3.6, 3.8); how they are updated is left as it is. */
export const daemonSet: Builder = merged(
  (live, built) => {
    const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
    return { spec: { ...before, selector: next.selector, template: mergePodTemplate(before.template, next.template) } };
  },
  { build: injectProxy, judge: judgeRollout('daemonset', { remaining: ofDaemonSet }) },
  { spec: leaveWorkloadSpec },
);

function ofDaemonSet(live: Json): string | undefined {
  const status = objectAt(live.status);
  const all = numberAt(status.desiredNumberScheduled);
  const updated = numberAt(status.updatedNumberScheduled);
  const available = numberAt(status.numberAvailable);
  // pods of such a set are replaced by hand
  const isByHand = objectAt(objectAt(live.spec).updateStrategy).type === 'OnDelete';
  if (!isByHand && updated < all) return `${updated} of ${all} nodes are updated`;
  return available < all ? `it is available on ${available} of ${all} nodes` : undefined;
}

/** StatefulSets are applied like any kind without rules of its own, and waited for. */
export const statefulSet: Builder = { ...generic, judge: judgeRollout('statefulset', { remaining: ofStatefulSet }) };

function ofStatefulSet(live: Json): string | undefined {
  const status = objectAt(live.status);
  const { type, rollingUpdate } = objectAt(objectAt(live.spec).updateStrategy);
  const wanted = wantedReplicas(live);
  // servers of before 1.25 leave out whom they count as available where there is none
  const available = numberAt(status.availableReplicas ?? status.readyReplicas);
  // pods below the partition stay as they are, and all of them where they are replaced by hand
  const replaced = type === 'OnDelete' ? 0 : Math.max(wanted - numberAt(objectAt(rollingUpdate).partition), 0);
  return remainingReplicas({ wanted, replaced, all: numberAt(status.replicas), updated: numberAt(status.updatedReplicas), available });
}
