/** Each sentence that the hub says of a job's cluster has its cause and its release in the answer of `flotilla why`. */
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { Inquiry, precacheJobMachine, readWait } from '@flotilla/rollout';
import { expect, test } from 'vitest';
import { context } from '../../../testing/interpret-case.ts';
import { ofNodes } from '../../../testing/interpret-nodes.cases.ts';
import { preparing } from '../../../testing/interpret-preparing.cases.ts';
import { running } from '../../../testing/interpret-running.cases.ts';
import { buildSpoke } from '../../../testing/observation-builders.ts';
import { toObservation } from '../transports/actions/observe.ts';
import { precacheNames } from './kinds/precache/job.ts';
import { decide } from './plan.ts';

const skip = () => ({ kind: 'skipped' }) as const;

/** Cause and release of a cluster in this state, of which the hub says this. */
function explain(state: string, message: string): string {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'default' },
    spec: { clusters: ['spoke-1'], preCaching: true, remediationStrategy: { maxConcurrency: 1 } },
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Validated', status: 'True', reason: 'x', message: '', lastTransitionTime: '' }],
      status: {},
      precaching: { status: { 'spoke-1': state }, messages: { 'spoke-1': message } },
    },
  });
  const nothing = { cluster: skip, agentLease: skip, upgradeAt: skip, policyCopy: skip, policy: skip, approvals: skip, work: skip };
  const { cause, own, links, release } = new Inquiry({ upgrade, now: 0, hub: skip(), ...nothing }).cluster('spoke-1');
  expect(links[0]?.says).toContain(readWait(message)?.says ?? message);
  return `${own.cause}${own.cause === cause ? '' : ` (${cause})`}${links.some(({ isUnknown }) => isUnknown) ? ', unknown' : ''}, ${release.byItself ? 'by itself' : 'by somebody'}: ${release.says}`;
}

test('each of them', () => {
  const decided = [...preparing, ...running, ...ofNodes].flatMap(({ from, spoke, context: given = context }) => {
    const { state, message } = decide(from, toObservation(precacheNames, buildSpoke(spoke)), given);
    return message === undefined || precacheJobMachine.isFinal(state) ? [] : [{ state, message }];
  });
  expect(Object.fromEntries(decided.map(({ state, message }) => [message, explain(state, message)]))).toMatchInlineSnapshot(`
    {
      "annotation x is "/"": "precache-problem, by somebody: Correct the cause that the message names; it is tried again by itself.",
      "precache-ns-create: failed to handle Create action with err: Post "https://10.0.0.1:6443/api/v1/namespaces": dial tcp 10.0.0.1:6443: connect: connection refused": "precache-problem, by somebody: Correct the cause that the message names; it is tried again by itself.",
      "precache-ns-create: failed to handle Create action with err: admission webhook "policy.test" denied the request: no": "precache-problem, by somebody: Correct the cause that the message names; it is tried again by itself.",
      "the status of job pre-cache is malformed": "precache-problem, by somebody: Correct the cause that the message names; it is tried again by itself.",
      "tries again: no address of host": "precache-problem, by somebody: Correct the cause that the message names; it is tried again by itself.",
      "waits (agent-silent) since 1970-01-01T00:11:40Z: no word from the agent of spoke-1 for 240 s; to go on: see kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)": "agent-silent, unknown, by somebody: See kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon).",
      "waits (agent-silent) since 1970-01-01T00:15:50Z: no word from the agent of spoke-1 for 30 s; to go on: see kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)": "agent-silent, unknown, by somebody: See kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon).",
      "waits (agent-silent) since 1970-01-01T00:16:06Z: no word from the agent of spoke-1 for 30 s; to go on: see kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)": "agent-silent, unknown, by somebody: See kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon).",
      "waits (cluster-unavailable): the cluster is not available; last seen pulling; to go on: see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run": "cluster-unavailable, unknown, by somebody: See kubectl describe managedcluster spoke-1, and whether the cluster and its agent run.",
      "waits (cluster-unavailable): the cluster is not available; pre-caching goes on when it is; to go on: see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run": "cluster-unavailable, unknown, by somebody: See kubectl describe managedcluster spoke-1, and whether the cluster and its agent run.",
      "waits (precache-claim) behind ns/other: waits for ClusterGroupUpgrade ns/other, which is pre-caching this cluster": "precache-claim (gate-blocking), unknown, by somebody: flotilla why other -n ns, by somebody who may read it.",
      "waits (precache-claim): waits for ClusterGroupUpgrade ns/other, which has ended and could not yet remove from this cluster what it left there; to go on: see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run": "precache-claim, by somebody: See kubectl describe managedcluster spoke-1, and whether the cluster and its agent run.",
      "waits (precache-prepare): removing what an earlier attempt left on the cluster": "precache-prepare, by itself: It goes on when the agent has answered, or removed what was left; a namespace ends when what is in it has ended.",
      "waits (precache-prepare): the spec has changed: starting over": "precache-prepare, by itself: It goes on when the agent has answered, or removed what was left; a namespace ends when what is in it has ended.",
      "waits (precache-problem): cannot see job pre-cache on the cluster: forbidden; to go on: see whether the API server of spoke-1 answers its agent, and whether the agent may read what is named": "precache-problem, by somebody: See whether the API server of spoke-1 answers its agent, and whether the agent may read what is named.",
      "waits (precache-problem): cannot see namespace on the cluster: forbidden; to go on: see whether the API server of spoke-1 answers its agent, and whether the agent may read what is named": "precache-problem, by somebody: See whether the API server of spoke-1 answers its agent, and whether the agent may read what is named.",
      "waits (precache-problem): job pre-cache has had no pod for 30 s: the cluster refuses to create it (FailedCreate), by a quota or an admission policy, or because it has SecurityContextConstraints and its ManagedCluster neither label vendor=OpenShift nor the claims that say so; to go on: see kubectl -n openshift-talo-pre-cache get pods,events on the cluster": "precache-problem, by somebody: See kubectl -n openshift-talo-pre-cache get pods,events on the cluster.",
      "waits (precache-problem): the pod of job pre-cache has not been running for 2 min: no room on the node (Pending), an image that cannot be pulled (ImagePullBackOff), or a host path that the node does not have (ContainerCreating); to go on: see kubectl -n openshift-talo-pre-cache get pods,events on the cluster": "precache-problem, by somebody: See kubectl -n openshift-talo-pre-cache get pods,events on the cluster.",
      "waits (precache-start): job pre-cache has no running pod yet": "precache-start, by itself: It goes on when the pod of the job runs: kubectl get pods,events in its namespace on the cluster shows it.",
    }
  `);
});
