/** Why a cluster that is under way is not done, by the state of its machine. Pure. */
import { perObject } from '@flotilla/api';
import type { RolloutClusterState } from '../batches/cluster-machine.ts';
import { indexOf } from '../batches/cluster-progress.ts';
import { areEditsApplied } from '../clusters/cluster-edits.ts';
import { readSoak } from '../policies/policy-mode.ts';
import { templatesOf } from '../upgrade/stage.ts';
import { objectOf, type UpgradeFacts } from './facts.ts';
import { behind, byItself, bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import { Membership } from './membership.ts';
import { policyWait } from './policy-waits.ts';
import { absence, heldWait, pausedWait, presence, stoppedWait } from './presence.ts';
import { progressEvidence, progressField, progressOf } from './progress.ts';
import type { ClusterQuestion } from './question.ts';
import { workWait } from './work-waits.ts';

type Judge = (question: ClusterQuestion, placement: Finding | undefined) => Finding | undefined;

/** A state that is added to the machine and forgotten here does not compile. Edits are made on the hub, so they wait for no agent. */
const judges: Readonly<Record<RolloutClusterState, Judge>> = {
  preparing: (question) => absence(question) ?? preparing(question),
  waiting: (question) =>
    absence(question) ??
    pausedWait(question) ??
    heldWait(question) ??
    told(question) ??
    finding(
      'leave',
      link(`${question.cluster} is about to begin`, progressEvidence(question)),
      byItself('It begins with the next pass of the hub.'),
      { says: 'leave to begin' },
    ),
  remediating: (question, placement) => presence(question) ?? remediating(question, placement),
  soaking: (question) => presence(question) ?? soak(question),
  editing: (question) => absence(question) ?? edits(question, 'waits for its edits after completion', progressField(question.cluster)),
  complete: () => undefined,
  timedOut: () => undefined,
  failed: () => undefined,
};

/** Why a cluster in this state is not done. @param placement what keeps Placements of the upgrade from selecting */
export const targetWait = (state: RolloutClusterState, question: ClusterQuestion, placement: Finding | undefined): Finding | undefined =>
  judges[state](question, placement);

function remediating(question: ClusterQuestion, placement: Finding | undefined): Finding {
  const problem = told(question);
  const isByWork = templatesOf(question.facts.upgrade).length > 0;
  const stop = isByWork ? undefined : stoppedWait(question);
  if (stop) return { ...stop, links: [atLink(question, isByWork), ...stop.links] };
  if (problem) return { ...problem, links: [atLink(question, isByWork), ...problem.links] };
  if (isByWork) return workWait(question);
  if (placement && concerns(placement, question.cluster)) return { ...placement, links: [atLink(question, isByWork), ...placement.links] };
  return policyWait(question);
}

function atLink(question: ClusterQuestion, isByWork: boolean) {
  const { facts, cluster } = question;
  const index = indexOf(progressOf(question), isByWork ? 'manifestWork' : 'policy');
  const name = isByWork ? templatesOf(facts.upgrade)[index] : facts.upgrade.status?.managedPoliciesForUpgrade?.[index]?.name;
  return link(`${cluster} is at ${isByWork ? 'ManifestWork' : 'policy'} ${name ?? index}`, progressEvidence(question));
}

/** Clusters that a message on a Placement names, of which there may be more. */
const NAMED = /does not select clusters \[([^\]]*)\]( and \d+ more)?/g;

/** True where the message is about the cluster, or may be. */
function concerns({ links }: Finding, cluster: string): boolean {
  const named = [...(links[0]?.says ?? '').matchAll(NAMED)];
  return named.length === 0 || named.some(([, names = '', more]) => more !== undefined || names.split(' ').includes(cluster));
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

/** A cluster that has its edits waits for those of the others. */
function preparing(question: ClusterQuestion): Finding {
  if (!isPrepared(question)) return edits(question, 'waits for its edits before the rollout', 'status.status.currentBatch');
  const { facts, cluster } = question;
  const other = firstUnprepared(facts);
  const head = link(
    `${cluster} has its edits and waits for those of other clusters`,
    upgradeEvidence(facts, 'status.status.currentBatch', 0),
  );
  const own = { cause: 'edits', says: 'the edits of other clusters' } as const;
  if (other === undefined) return finding('edits', head, byItself('The hub goes on with its next pass.'), own);
  return behind(head, absence({ facts, cluster: other }) ?? preparing({ ...question, cluster: other }), own);
}

/** Thousands of clusters ask for the first of them. */
const firstUnprepared = perObject((facts: UpgradeFacts): string | undefined => {
  const members = new Membership(facts.upgrade);
  return [...members.planned].find((cluster) => !isPrepared({ facts, members, cluster }));
});

/** Its record counts too: who complied already is edited for the last time meanwhile. */
function isPrepared({ facts, members, cluster }: Pick<ClusterQuestion, 'facts' | 'members' | 'cluster'>): boolean {
  if (members.record(cluster) !== undefined) return true;
  const managed = objectOf(facts.cluster(cluster));
  const nameLabel = templatesOf(facts.upgrade).length === 0;
  return managed !== undefined && areEditsApplied(managed, facts.upgrade.spec?.actions?.beforeEnable, { nameLabel });
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
