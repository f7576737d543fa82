/** Why a cluster of the current batch is not done, by the state of its machine. Pure. */
import { Annotation, findCondition } from '@flotilla/api';
import { AGENT_LEASE, CLUSTER_AVAILABLE, HUB_ACCEPTED, type Policy } from '@flotilla/api/ocm';
import { fixOf } from '@flotilla/api/ran';
import { z } from 'zod';
import type { RolloutClusterState } from '../batches/cluster-machine.ts';
import { indexOf } from '../batches/cluster-progress.ts';
import { isAvailable } from '../clusters/availability.ts';
import { findHold } from '../gates/pause.ts';
import { readSoak } from '../policies/policy-mode.ts';
import { templatesOf } from '../upgrade/stage.ts';
import { judgeWork } from '../works/manifest-works.ts';
import { objectOf, type UpgradeFacts } from './facts.ts';
import { byItself, bySomebody, clusterEvidence, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import { isStale } from './hub-sign.ts';
import { managedUpgradeOf } from './managed-upgrade.ts';

/** A cluster that is under way. */
interface ClusterQuestion {
  readonly facts: UpgradeFacts;
  readonly cluster: string;
}

/** A state that is added to the machine and forgotten here does not compile. */
const judges: Readonly<Record<RolloutClusterState, (question: ClusterQuestion) => Finding | undefined>> = {
  preparing: (question) => edits(question, 'waits for its edits before the rollout', 'status.status.currentBatch'),
  waiting: (question) =>
    heldWait(question) ??
    told(question) ??
    finding(
      'leave',
      link(`${question.cluster} is about to begin`, progressEvidence(question)),
      byItself('It begins with the next pass of the hub.'),
      { says: 'leave to begin' },
    ),
  remediating: (question) => (templatesOf(question.facts.upgrade).length > 0 ? work(question) : policy(question)),
  soaking: soak,
  editing: (question) => edits(question, 'waits for its edits after completion', progressField(question.cluster)),
  complete: () => undefined,
  timedOut: () => undefined,
  failed: () => undefined,
};

/** Why a cluster that is under way is not done; its agent is asked about first. */
export const clusterWait = (state: RolloutClusterState, question: ClusterQuestion): Finding | undefined =>
  presence(question) ?? judges[state](question);

const progressField = (cluster: string): string => `status.status.currentBatchRemediationProgress[${cluster}]`;
const progressOf = ({ facts, cluster }: ClusterQuestion) => facts.upgrade.status?.status.currentBatchRemediationProgress?.[cluster] ?? {};
const progressEvidence = (question: ClusterQuestion) =>
  upgradeEvidence(question.facts, progressField(question.cluster), progressOf(question));

/** Why nothing can be asked of the cluster now. */
export function presence({ facts, cluster }: ClusterQuestion): Finding | undefined {
  const seen = facts.cluster(cluster);
  if (seen.kind !== 'read') return undefined;
  const now = new Date(facts.now).toISOString();
  const managed = seen.object;
  if (!managed)
    return finding(
      'cluster-missing',
      link(`${cluster} is no ManagedCluster`, clusterEvidence(cluster, 'metadata.name', '(not found)', now)),
      bySomebody(`Register ${cluster} again, or take it out of the upgrade; the hub records it as failed by itself.`),
      { says: 'a ManagedCluster that does not exist' },
    );
  const accepted = findCondition(managed.status?.conditions, HUB_ACCEPTED);
  if (managed.spec?.hubAcceptsClient === false || (accepted?.status === 'False' && accepted.reason === 'Error'))
    return finding(
      'cluster-denied',
      link(
        `the hub does not let ${cluster} in`,
        clusterEvidence(cluster, 'spec.hubAcceptsClient', String(managed.spec?.hubAcceptsClient), now),
      ),
      bySomebody(`Accept it (spec.hubAcceptsClient: true), or run flotilla join for ${cluster}.`),
      { says: 'the hub to let the cluster in' },
    );
  return isAvailable(managed) ? silence({ facts, cluster }) : unavailable({ facts, cluster });
}

function unavailable({ facts, cluster }: ClusterQuestion): Finding {
  const condition = findCondition(objectOf(facts.cluster(cluster))?.status?.conditions, CLUSTER_AVAILABLE);
  const since = condition?.lastTransitionTime;
  const evidence = clusterEvidence(cluster, `status.conditions[${CLUSTER_AVAILABLE}]`, `${condition?.status} ${condition?.reason}`, since);
  const first = link(`${cluster} is not available: ${condition?.message ?? ''}`, { ...evidence, isUnknown: true });
  return finding(
    'cluster-unavailable',
    first,
    bySomebody(`It goes on when the agent of ${cluster} renews its lease: ${fixOf('ClusterUnavailable', { cluster })}.`),
    {
      says: 'a cluster that is not available',
      since,
    },
  );
}

/** A cluster that counts as available may have been silent for a while: what its agent reported last is then no evidence. */
function silence({ facts, cluster }: ClusterQuestion): Finding | undefined {
  const lease = objectOf(facts.agentLease(cluster));
  if (!lease || !isStale(lease, facts.now)) return undefined;
  const renewed = lease.spec?.renewTime ?? '(never)';
  const first = link(`no word from the agent of ${cluster}`, {
    object: `Lease ${cluster}/${AGENT_LEASE}`,
    field: 'spec.renewTime',
    value: renewed,
    observedAt: lease.spec?.renewTime ?? undefined,
    isUnknown: true,
  });
  return finding(
    'agent-silent',
    first,
    bySomebody(`It goes on when the agent of ${cluster} reports again: ${fixOf('AgentSilent', { cluster })}.`),
    {
      says: 'an agent that is silent',
      since: lease.spec?.renewTime ?? undefined,
    },
  );
}

/** The hold of a cluster: nothing is begun on it. */
export function heldWait({ facts, cluster }: ClusterQuestion): Finding | undefined {
  const says = findHold(objectOf(facts.cluster(cluster)));
  if (says === undefined) return undefined;
  const evidence = clusterEvidence(cluster, `metadata.annotations[${Annotation.hold}]`, says, new Date(facts.now).toISOString());
  return finding(
    'held',
    link(`${cluster} is ${says}`, evidence),
    bySomebody(`Remove the annotation ${Annotation.hold} from ManagedCluster ${cluster}.`),
    {
      says: 'somebody to lift the hold of the cluster',
    },
  );
}

/** The hub's own sentence on what keeps the cluster. */
function told({ facts, cluster }: ClusterQuestion): Finding | undefined {
  const message = facts.upgrade.status?.messages?.[cluster];
  if (message === undefined) return undefined;
  return finding(
    'refused',
    link(`${cluster}: ${message}`, upgradeEvidence(facts, `status.messages[${cluster}]`, message)),
    bySomebody('Mend what the message names; it is tried again by itself.'),
    { says: message.replaceAll(cluster, '(cluster)') },
  );
}

function edits(question: ClusterQuestion, says: string, field: string): Finding {
  const { facts, cluster } = question;
  return (
    told(question) ??
    finding(
      'edits',
      link(`${cluster} ${says}`, upgradeEvidence(facts, field, facts.upgrade.status?.status.currentBatch ?? 0)),
      byItself('It goes on when the hub has seen the labels and annotations on the ManagedCluster.'),
      { says },
    )
  );
}

const Details = z
  .array(
    z.looseObject({
      compliant: z.string().optional(),
      templateMeta: z.looseObject({ name: z.string().optional() }).optional(),
      history: z.array(z.looseObject({ message: z.string().optional(), lastTimestamp: z.string().optional() })).optional(),
    }),
  )
  .catch([]);

/** What of a replicated policy is not compliant, in its own words. */
function worst({ status }: Policy): { readonly at: string; readonly message: string; readonly time: string | undefined } | undefined {
  const details = Details.parse(status?.details ?? []);
  const index = details.findIndex(({ compliant }) => compliant !== 'Compliant');
  const latest = details[index]?.history?.[0];
  return latest && { at: `status.details[${index}].history[0]`, message: latest.message ?? '', time: latest.lastTimestamp };
}

function policy(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const index = indexOf(progressOf(question), 'policy');
  const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.[index];
  const [name, says] = [ref?.name ?? String(index), `policy ${ref?.name ?? index} to be compliant`];
  const head = link(`${cluster} is at policy ${name}`, progressEvidence(question));
  const release = byItself('It goes on when the policy is compliant, or when the batch times out.');
  const problem = told(question);
  if (problem) return { ...problem, links: [head, ...problem.links] };
  const seen = ref ? facts.policyCopy(ref, cluster) : ({ kind: 'skipped' } as const);
  if (seen.kind !== 'read') return finding('policy', { ...head, isUnknown: seen.kind === 'unread' }, release, { says });
  const object = `Policy ${cluster}/${ref?.namespace}.${ref?.name}`;
  const copy = seen.object;
  if (!copy) {
    const gone = link('the policy is not placed on the cluster', { object, field: 'metadata.name', value: '(not found)' });
    return { ...finding('policy', gone, bySomebody('Place the policy on the cluster (PlacementBinding).'), { says }), links: [head, gone] };
  }
  const found = worst(copy);
  const observedAt = objectOf(facts.agentLease(cluster))?.spec?.renewTime ?? found?.time;
  const compliance = link(`policy ${name} is ${copy.status?.compliant ?? 'not reported yet'}`, {
    object,
    field: 'status.compliant',
    value: copy.status?.compliant ?? '(none)',
    observedAt,
  });
  const own = found?.message
    ? [link(found.message, { object, field: found.at, value: found.message, observedAt: found.time ?? observedAt })]
    : [];
  return { cause: 'policy', own: { cause: 'policy', says }, links: [head, compliance, ...own], release };
}

function work(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const template = templatesOf(facts.upgrade)[indexOf(progressOf(question), 'manifestWork')] ?? '';
  const says = `ManifestWork of ${template} to be done`;
  const head = link(`${cluster} is at ManifestWork ${template}`, progressEvidence(question));
  const release = byItself('It goes on when the work reports what is expected, or when the batch times out.');
  const problem = told(question);
  if (problem) return { ...problem, links: [head, ...problem.links] };
  const seen = facts.work(cluster, template);
  if (seen.kind !== 'read') return finding('work', { ...head, isUnknown: seen.kind === 'unread' }, release, { says });
  if (!seen.object) {
    const gone = link('the work is not there yet', {
      object: `ManifestWork ${cluster}/(${template})`,
      field: 'metadata.name',
      value: '(not found)',
    });
    return {
      cause: 'work',
      own: { cause: 'work', says },
      links: [head, gone],
      release: byItself('The hub creates it with its next step.'),
    };
  }
  const verdict = judgeWork(seen.object, { now: facts.now, appliedSince: () => facts.now });
  const object = `ManifestWork ${cluster}/${seen.object.metadata.name}`;
  const observedAt = objectOf(facts.agentLease(cluster))?.spec?.renewTime ?? undefined;
  const waits = verdict.complete ? 'it is done; the hub goes on with its next pass' : verdict.waitsFor;
  const state = link(`the work waits: ${waits}`, { object, field: 'status', value: waits, observedAt });
  const managed = managedUpgradeOf(seen.object).map(({ says: line, field, value }) => link(line, { object, field, value, observedAt }));
  return { cause: 'work', own: { cause: 'work', says }, links: [head, state, ...managed], release };
}

function soak(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const progress = progressOf(question);
  const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.[indexOf(progress, 'policy')];
  const parent = ref && objectOf(facts.policy(ref));
  const from = Date.parse(progress.firstCompliantAt ?? '');
  const at = parent ? from + readSoak(parent).seconds * 1000 : undefined;
  const says = `the soak of policy ${ref?.name ?? ''}`;
  return finding(
    'soak',
    link(`${cluster} has complied with policy ${ref?.name ?? ''} since ${progress.firstCompliantAt} and soaks`, progressEvidence(question)),
    byItself('It goes on when the policy has been compliant for its soak time.', at),
    { says },
  );
}
