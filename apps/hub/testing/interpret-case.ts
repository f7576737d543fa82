/** Parts of the cases of `decide`. */
import { Annotation } from '@flotilla/api';
import type { PrecacheState, PullerReport } from '@flotilla/api/ran';
import type { StepContext } from '../src/spokes/jobs/kind.ts';
import { createPrecacheJob } from '../src/spokes/jobs/kinds/precache/job.ts';
import type { ActionsSpoke } from '../src/spokes/transports/actions/observe.ts';
import type { Answer } from '../src/spokes/transports/port/port.ts';
import { buildAction, buildPrecacheSettings, foundJob, UPGRADE } from './observation-builders.ts';

/** Job of every case. */
const job = createPrecacheJob(buildPrecacheSettings());
/** Context before the deadline, with nothing in the way. */
export const context: StepContext<PrecacheState> = {
  job,
  upgradeUid: UPGRADE.uid,
  cluster: 'spoke-1',
  now: 1_000_000,
  deadlineAt: 2_000_000,
  claimedBy: undefined,
  claimantEnded: false,
  trouble: undefined,
  digest: 'new',
};
/** Context at the deadline. */
export const late: StepContext<PrecacheState> = { ...context, now: 2_000_000 };

/** State, observation and expected result. */
export interface Row {
  readonly name: string;
  readonly from: PrecacheState;
  readonly spoke: Partial<ActionsSpoke>;
  readonly context?: StepContext<PrecacheState>;
  readonly to: PrecacheState;
  readonly effects?: readonly string[];
  /** Absent: the result has no message. */
  readonly message?: string;
  /** Absent: only an event enqueues the spoke. */
  readonly at?: number;
}

/** Answer for a missing object. */
export const absent: Answer = { kind: 'absent' };
/** Answer before the agent's first report. */
export const pending: Answer = { kind: 'pending' };
/** Answer of a spoke that refused the view. */
export const unknown: Answer = { kind: 'unknown', message: 'forbidden' };
/** Answer with a Job that failed for this reason. */
export const failed = (reason: string, message?: string, annotations?: Record<string, string>) =>
  foundJob({ failed: 1, conditions: [{ type: 'Failed', status: 'True', reason, ...(message && { message }) }] }, annotations);
/** Annotations of a Job with the last report of a failed puller. */
export const progress = (message?: string, more: Partial<PullerReport> = {}): Record<string, string> => {
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
  return { [Annotation.progress]: JSON.stringify({ ...report, ...more }) };
};
/** Message of a denied admission. */
export const DENIED = 'failed to handle Create action with err: admission webhook "policy.test" denied the request: no';
/** Message of an agent whose API server is away. */
export const UNREACHABLE =
  'failed to handle Create action with err: Post "https://10.0.0.1:6443/api/v1/namespaces": dial tcp 10.0.0.1:6443: connect: connection refused';
/** Observes a namespace whose creation failed so many times. */
export const creationFailed = (message: string, times: number) =>
  new Map([['precache-ns-create', buildAction({ outcome: 'failed', retries: times, refusals: times, message })]]);
/** Message of an agent that may not create DaemonSets. */
const FORBIDDEN =
  'daemonsets.apps is forbidden: User "system:serviceaccount:agent:work" cannot create resource "daemonsets" in API group "apps" in the namespace "openshift-talo-pre-cache"';
/** Observes the pullers of other nodes, refused so many times. */
export const nodesRefused = (times: number) =>
  new Map([['precache-nodes-create', buildAction({ outcome: 'failed', retries: times, refusals: times, message: FORBIDDEN })]]);
/** Message about them. */
export const NODES_REFUSED = `its other nodes cannot be filled: User "system:serviceaccount:agent:work" cannot create resource "daemonsets" in API group "apps" in the namespac…; let the agent on spoke-1 create DaemonSets, or set flotilla.io/absent-nodes: ignore on the PreCachingConfig`;
/** Message about an upgrade with leftovers. */
export const LEFTOVERS =
  'waits for ClusterGroupUpgrade ns/other, which has ended and could not yet remove from this cluster what it left there';
/** Message about an agent without an answer for so many seconds. */
export const silent = (seconds: number): string =>
  `no word from the agent of spoke-1 for ${seconds} s; see kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)`;
/** Message about a cluster that went away. */
export const lastSeen =
  'the cluster is not available; last seen pulling; see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run';
/** Message about a cluster that is away. */
export const away =
  'the cluster is not available; pre-caching goes on when it is; see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run';
