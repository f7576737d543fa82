/** Judges what is over: the record of a cluster, the verdict of an upgrade; and who is no part of it. Pure. */
import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { describeLeftOut } from '../upgrade/lost-clusters.ts';
import { RecordState } from '../upgrade/model.ts';
import { isEnding } from '../upgrade/stage.ts';
import { policyFellBackFrom } from '../upgrade/texts.ts';
import { conditionEvidence } from './conditions.ts';
import { byItself, bySomebody, clusterEvidence, type Finding, finding, link, specEvidence, upgradeEvidence } from './finding.ts';
import { leftAt, standsNow } from './left-at.ts';
import type { ClusterQuestion, Question } from './question.ts';
import { storedWait } from './stored-wait.ts';

/** Finding for a cluster that has its record; undefined for one that has none. */
export function recordedWait(question: ClusterQuestion): Finding | undefined {
  const { facts, members, cluster } = question;
  const record = members.record(cluster);
  if (!record) return undefined;
  const again = isEnding(facts.upgrade) ? undefined : members.saidAgain(cluster);
  if (again !== undefined) return storedWait(question, cluster) ?? saidAgain(question, again);
  const { status } = facts.upgrade;
  const evidence = upgradeEvidence(facts, `status.clusters[${cluster}].state`, record.state);
  if (record.state === RecordState.complete)
    return finding('done', link(`${cluster} is done`, evidence), byItself('Nothing is waited for.'), { says: 'nothing' });
  const said = record.message ?? status?.precaching?.messages?.[cluster] ?? status?.backup?.messages?.[cluster];
  const why = said ?? leftAt(record) ?? 'without a sentence';
  const word = record.state === RecordState.timedOut ? 'timed out' : 'failed';
  const found = finding(
    'failed',
    link(`${cluster} ${word}: ${why}`, evidence),
    bySomebody(`Mend what it says, then try this cluster again: ${retryOf(facts)} ${cluster}, or Retry in the console.`),
    { says: `${word}: ${why.replaceAll(cluster, '(cluster)')}` },
  );
  return { ...found, links: [...found.links, ...standsNow(question, record)] };
}

const retryOf = ({ upgrade: { metadata } }: Question['facts']): string => `flotilla retry -n ${metadata.namespace} ${metadata.name}`;

function saidAgain({ facts, cluster }: ClusterQuestion, again: string): Finding {
  const policy = policyFellBackFrom(again);
  return finding(
    'policy',
    link(`${cluster} ${again}`, upgradeEvidence(facts, `status.messages[${cluster}]`, again)),
    byItself('It goes on with the last batch, or when the upgrade times out.'),
    { says: policy === undefined ? again : `policy ${policy} to be compliant again` },
  );
}

/** The verdict is there, and something of the upgrade is left. */
export function cleaningWait({ facts }: Question): Finding {
  const left = Object.entries(facts.upgrade.status?.messages ?? {})[0];
  const says = left ? `its clean-up waits: ${left[0]}: ${left[1]}` : 'it has ended and is being cleaned up';
  return finding(
    'clean-up',
    link(says, left ? upgradeEvidence(facts, `status.messages[${left[0]}]`, left[1]) : verdictOf(facts).evidence),
    byItself('It is over when nothing of it is left on the hub.'),
  );
}

/** Nothing is left of it. */
export function cleanedWait({ facts }: Question): Finding {
  const { succeeded, evidence } = verdictOf(facts);
  const { status } = facts.upgrade;
  const leftOut = status && describeLeftOut(status);
  if (succeeded?.status === 'True' && leftOut === undefined)
    return finding('done', link('the upgrade has ended well', evidence), byItself('Nothing is waited for.'), { says: 'nothing' });
  return finding(
    'failed',
    link(`the upgrade has ended: ${leftOut ?? succeeded?.message ?? ''}`, evidence),
    bySomebody(
      `Mend what its clusters say (flotilla status), then try those that failed again: ${retryOf(facts)} --failed, or Retry in the console.`,
    ),
  );
}

function verdictOf(facts: Question['facts']) {
  const succeeded = findCondition(facts.upgrade.status?.conditions, ClusterGroupUpgradeCondition.succeeded);
  return { succeeded, evidence: conditionEvidence(facts, succeeded, ClusterGroupUpgradeCondition.succeeded) };
}

/** Finding for a cluster that is no part of the upgrade. */
export function strangerWait({ facts, members, cluster }: ClusterQuestion): Finding | undefined {
  if (members.all.has(cluster)) return undefined;
  const seen = facts.cluster(cluster);
  if (seen.kind === 'read' && !seen.object)
    return finding(
      'not-a-member',
      link(
        `there is no ManagedCluster ${cluster}`,
        clusterEvidence(cluster, 'metadata.name', '(not found)', new Date(facts.now).toISOString()),
      ),
      bySomebody('Correct the name: kubectl get managedclusters lists those that there are.'),
    );
  const { spec, status } = facts.upgrade;
  const says = `${cluster} is no part of this upgrade`;
  return finding(
    'not-a-member',
    status?.remediationPlan !== undefined
      ? link(says, upgradeEvidence(facts, 'status.remediationPlan', `${members.all.size} clusters`))
      : { ...link(`${says} as far as it is planned`, specEvidence(facts, 'spec.clusters', spec?.clusters ?? [])), isUnknown: true },
    bySomebody('It complies already, or is not selected: see spec.clusters and spec.clusterLabelSelectors.'),
  );
}
