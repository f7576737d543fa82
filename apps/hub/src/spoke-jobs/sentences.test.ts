/** Each sentence that the hub says of a job's cluster has its cause and its release in the answer of `flotilla why`. */
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { Inquiry } from '@flotilla/rollout';
import { expect, test } from 'vitest';
import { ofNodes } from '../../testing/interpret-nodes.cases.ts';
import { preparing } from '../../testing/interpret-preparing.cases.ts';
import { running } from '../../testing/interpret-running.cases.ts';

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
  expect(links[0]?.says).toContain(message);
  return `${own.cause}${own.cause === cause ? '' : ` (${cause})`}${links.some(({ isUnknown }) => isUnknown) ? ', unknown' : ''}, ${release.byItself ? 'by itself' : 'by somebody'}: ${release.says}`;
}

test('each of them', () => {
  const waits = [...preparing, ...running, ...ofNodes].filter(
    ({ to, message }) => message !== undefined && !['Succeeded', 'PrecacheTimeout', 'UnrecoverableError'].includes(to),
  );
  expect(Object.fromEntries(waits.map(({ to, message = '' }) => [message, explain(to, message)]))).toMatchInlineSnapshot(`
    {
      "annotation x is "/"": "precache-problem, by somebody: Mend what the message names; it is tried again by itself.",
      "cannot see job pre-cache on the cluster: forbidden": "precache-problem, by somebody: See whether the API server of spoke-1 answers its agent, and whether the agent may read what is named.",
      "cannot see namespace on the cluster: forbidden": "precache-problem, by somebody: See whether the API server of spoke-1 answers its agent, and whether the agent may read what is named.",
      "job pre-cache has had no pod for 30 s; see kubectl -n openshift-talo-pre-cache get pods,events on the cluster: the cluster refuses to create it (FailedCreate), by a quota or an admission policy, or because it has SecurityContextConstraints and its ManagedCluster neither label vendor=OpenShift nor the claims that say so": "precache-problem, by somebody: See kubectl -n openshift-talo-pre-cache get pods,events on the cluster.",
      "job pre-cache has no running pod yet": "precache-start, by itself: It goes on when the pod runs: kubectl -n openshift-talo-pre-cache get pods,events on the cluster shows it.",
      "no word from the agent of spoke-1 for 240 s; see kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)": "agent-silent, unknown, by somebody: See kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon).",
      "no word from the agent of spoke-1 for 30 s; see kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)": "agent-silent, unknown, by somebody: See kubectl describe managedcluster spoke-1, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon).",
      "precache-ns-create: failed to handle Create action with err: Post "https://10.0.0.1:6443/api/v1/namespaces": dial tcp 10.0.0.1:6443: connect: connection refused": "precache-problem, by somebody: Mend what the message names; it is tried again by itself.",
      "precache-ns-create: failed to handle Create action with err: admission webhook "policy.test" denied the request: no": "precache-problem, by somebody: Mend what the message names; it is tried again by itself.",
      "removing what an earlier attempt left on the cluster": "precache-prepare, by itself: It goes on when the agent has removed it; a namespace ends when what is in it has ended.",
      "the cluster is not available; last seen pulling; see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run": "cluster-unavailable, unknown, by somebody: See kubectl describe managedcluster spoke-1, and whether the cluster and its agent run.",
      "the cluster is not available; pre-caching goes on when it is; see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run": "cluster-unavailable, unknown, by somebody: See kubectl describe managedcluster spoke-1, and whether the cluster and its agent run.",
      "the pod of job pre-cache has not been running for 2 min; see kubectl -n openshift-talo-pre-cache get pods,events on the cluster: no room on the node (Pending), an image that cannot be pulled (ImagePullBackOff), or a host path that the node does not have (ContainerCreating)": "precache-problem, by somebody: See kubectl -n openshift-talo-pre-cache get pods,events on the cluster.",
      "the spec has changed: starting over": "precache-prepare, by itself: It goes on when what the former spec left there is removed.",
      "the status of job pre-cache is malformed": "precache-problem, by somebody: Mend what the message names; it is tried again by itself.",
      "tries again: no address of host": "precache-problem, by somebody: Mend what the message names; it is tried again by itself.",
      "waits for ClusterGroupUpgrade ns/other, which has ended and could not yet remove from this cluster what it left there": "precache-claim, by somebody: It goes on when the agent of spoke-1 has removed it: see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run.",
      "waits for ClusterGroupUpgrade ns/other, which is pre-caching this cluster": "precache-claim (gate-blocking), unknown, by somebody: flotilla why other -n ns, by somebody who may read it.",
    }
  `);
});
