/** Judges whether a cluster is there and may be worked on. Pure. */
import { Annotation, findCondition } from '@flotilla/api';
import { AGENT_LEASE, CLUSTER_AVAILABLE, HUB_ACCEPTED } from '@flotilla/api/ocm';
import { fixOf } from '@flotilla/api/ran';
import { isAvailable } from '../clusters/availability.ts';
import { findHold, findPause } from '../gates/pause.ts';
import { decidesAsReference, objectOf } from './facts.ts';
import { bySomebody, clusterEvidence, type Finding, finding, link, specEvidence } from './finding.ts';
import { isStale } from './hub-sign.ts';
import type { ClusterQuestion, Question } from './question.ts';

type Asked = Pick<ClusterQuestion, 'facts' | 'cluster'>;

/** Why nothing can be asked of the cluster now. */
export function presence(question: Asked): Finding | undefined {
  const { facts, cluster } = question;
  const seen = facts.cluster(cluster);
  if (seen.kind !== 'read') return undefined;
  const managed = seen.object;
  if (!managed) return missing(question);
  const now = new Date(facts.now).toISOString();
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
  return isAvailable(managed) ? silence(question) : unavailable(question);
}

/** Finding for a cluster that has left the fleet, or was never in it. */
export function absence(question: Asked): Finding | undefined {
  const seen = question.facts.cluster(question.cluster);
  return seen.kind === 'read' && !seen.object ? missing(question) : undefined;
}

function missing({ facts, cluster }: Asked): Finding {
  return finding(
    'cluster-missing',
    link(`${cluster} is no ManagedCluster`, clusterEvidence(cluster, 'metadata.name', '(not found)', new Date(facts.now).toISOString())),
    bySomebody(`Restore ${cluster} or register it again, or take it out of spec.clusters; the hub waits for it until its batch times out.`),
    { says: 'a ManagedCluster that does not exist' },
  );
}

function unavailable({ facts, cluster }: Asked): Finding {
  const condition = findCondition(objectOf(facts.cluster(cluster))?.status?.conditions, CLUSTER_AVAILABLE);
  const since = condition?.lastTransitionTime;
  const evidence = clusterEvidence(cluster, `status.conditions[${CLUSTER_AVAILABLE}]`, `${condition?.status} ${condition?.reason}`, since);
  const first = link(`${cluster} is not available: ${condition?.message ?? ''}`, { ...evidence, isUnknown: true });
  return finding(
    'cluster-unavailable',
    first,
    bySomebody(`It goes on when the agent of ${cluster} renews its lease: ${fixOf('ClusterUnavailable', { cluster })}.`),
    { says: 'a cluster that is not available', since },
  );
}

/** A cluster that counts as available may have been silent for a while: what its agent reported last is then no evidence. */
function silence({ facts, cluster }: Asked): Finding | undefined {
  const lease = objectOf(facts.agentLease(cluster));
  if (!lease || !isStale(lease, facts.now)) return undefined;
  const renewed = lease.spec?.renewTime ?? undefined;
  const first = link(`no word from the agent of ${cluster}`, {
    object: `Lease ${cluster}/${AGENT_LEASE}`,
    field: 'spec.renewTime',
    value: renewed ?? '(never)',
    observedAt: renewed,
    isUnknown: true,
  });
  return finding(
    'agent-silent',
    first,
    bySomebody(`It goes on when the agent of ${cluster} reports again: ${fixOf('AgentSilent', { cluster })}.`),
    { says: 'an agent that is silent', since: renewed },
  );
}

/** A pause of the upgrade, as far as it holds up what has not begun. */
export function pausedWait({ facts }: Pick<Question, 'facts'>): Finding | undefined {
  const pause = decidesAsReference(facts.upgrade) ? undefined : findPause(facts.upgrade);
  if (!pause) return undefined;
  const field = `metadata.annotations[${Annotation.paused}]`;
  return finding(
    'paused',
    link(pause.message, specEvidence(facts, field, facts.upgrade.metadata.annotations?.[Annotation.paused])),
    bySomebody(
      `Remove the annotation ${Annotation.paused} from the ClusterGroupUpgrade (flotilla resume ${facts.upgrade.metadata.name} -n ${facts.upgrade.metadata.namespace}).`,
    ),
    { says: 'the pause to end' },
  );
}

/** The same where it also stops what has begun: policies are enforced no more. */
export const stoppedWait = (question: Pick<Question, 'facts'>): Finding | undefined =>
  findPause(question.facts.upgrade)?.stops ? pausedWait(question) : undefined;

/** The hold of a cluster: nothing is begun on it. */
export function heldWait({ facts, cluster }: Asked): Finding | undefined {
  const says = decidesAsReference(facts.upgrade) ? undefined : findHold(objectOf(facts.cluster(cluster)));
  if (says === undefined) return undefined;
  const evidence = clusterEvidence(cluster, `metadata.annotations[${Annotation.hold}]`, says, new Date(facts.now).toISOString());
  return finding(
    'held',
    link(`${cluster} is ${says}`, evidence),
    bySomebody(`Remove the annotation ${Annotation.hold} from ManagedCluster ${cluster} (flotilla unhold ${cluster}).`),
    { says: 'somebody to lift the hold of the cluster' },
  );
}
