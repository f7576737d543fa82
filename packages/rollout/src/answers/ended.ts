/** Answers on what is over: the record of a cluster, the verdict of an upgrade; and on clusters that are no part of it. Pure. */
import { findCondition, foreign, refKey } from '@flotilla/api';
import type { WhyLink } from '@flotilla/api/answers';
import { ManifestStatus } from '@flotilla/api/ocm';
import { ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { z } from 'zod';
import { selectPresent } from '../clusters/cluster-selection.ts';
import { blockingRefs, judgeBlocking } from '../gates/blocking.ts';
import { isOpenToMembers } from '../gates/upgrade-annotations.ts';
import type { UpgradeRef } from '../upgrade/identity.ts';
import { describeLeftOut } from '../upgrade/lost-clusters.ts';
import { type ClusterRecord, RecordState } from '../upgrade/model.ts';
import { isEnding } from '../upgrade/stage.ts';
import { masked, notFound, saidOf } from '../waits/wait.ts';
import { complianceLinks, refusedManifest, workLinks } from './evidence.ts';
import { describeEdits, objectOf } from './facts.ts';
import {
  before,
  byItself,
  bySomebody,
  type ClusterQuestion,
  conditionEvidence,
  type Finding,
  finding,
  fixFor,
  link,
  type Question,
  storedWait,
  upgradeEvidence,
} from './finding.ts';

/** Finding for a cluster that has its record; undefined for one that has none. */
export function recordedWait(question: ClusterQuestion): Finding | undefined {
  const { facts, members, cluster } = question;
  const record = members.record(cluster);
  if (!record) return undefined;
  const { status } = facts.upgrade;
  if (!isEnding(facts.upgrade) && members.saidAgain(cluster) !== undefined) return storedWait(question, cluster);
  const evidence = upgradeEvidence(facts, `status.clusters[${cluster}].state`, record.state);
  if (record.state === RecordState.complete)
    return finding('done', link(`${cluster} is done`, evidence), byItself('Nothing is waited for.'), { says: 'nothing' });
  const said = record.message ?? status?.precaching?.messages?.[cluster] ?? status?.backup?.messages?.[cluster];
  const why = said === undefined ? (leftAt(record) ?? 'without a sentence') : saidOf(said);
  const word = record.state === RecordState.timedOut ? 'timed out' : 'failed';
  const found = finding(
    'failed',
    link(`${cluster} ${word}: ${why}`, evidence),
    bySomebody(
      `Correct the cause that it names, then try this cluster again${whenOf(question)}: ${retryOf(facts)} ${cluster}, or Retry in the console.`,
    ),
    { says: `${word}: ${masked(why, cluster)}` },
  );
  return { ...found, links: [...found.links, ...standsNow(question, record)] };
}

/** One that failed its backup is in no plan of this upgrade any more. */
const whenOf = ({ facts: { upgrade }, cluster }: ClusterQuestion): string => {
  const state = upgrade.status?.backup?.status?.[cluster];
  return !isEnding(upgrade) && (state === 'BackupTimeout' || state === 'UnrecoverableError') ? ' once the upgrade has ended' : '';
};

const retryOf = ({ upgrade: { metadata } }: Pick<Question['facts'], 'upgrade'>): string =>
  `flotilla retry -n ${metadata.namespace} ${metadata.name}`;

const WorkStatus = foreign(z.looseObject({ manifests: z.array(ManifestStatus) }));

/** Says where it was, and the cause as far as the record has it; undefined for a record that says nothing of it. */
export function leftAt({ currentPolicy, currentManifestWork }: ClusterRecord): string | undefined {
  if (currentPolicy) {
    const { name, status } = currentPolicy;
    return typeof status === 'string' && status !== '' ? `policy ${name} was ${status}` : `at policy ${name}`;
  }
  if (!currentManifestWork) return undefined;
  const { name, status } = currentManifestWork;
  const [refused] = refusedManifest(WorkStatus.safeParse(status).data?.manifests);
  return `at ManifestWork ${name}${refused ? `: ${refused.says}` : ''}`;
}

/** Says how that stands now, in the words of the cluster; empty where it is not there any more or nobody may read it. */
function standsNow(question: ClusterQuestion, { currentPolicy, currentManifestWork }: ClusterRecord): WhyLink[] {
  const { facts, cluster } = question;
  if (currentPolicy) {
    const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.find(({ name }) => name === currentPolicy.name);
    const copy = ref && objectOf(facts.policyCopy(ref, cluster));
    return copy ? complianceLinks(question, ref, copy) : [];
  }
  const work = currentManifestWork && objectOf(facts.work(cluster, currentManifestWork.name));
  return work ? workLinks(question, work) : [];
}

/** The verdict is there, and something of the upgrade is left. */
export function cleaningWait({ facts }: Question): Finding {
  const left = Object.entries(facts.upgrade.status?.messages ?? {})[0];
  const says = left ? `its clean-up waits: ${left[0]}: ${saidOf(left[1])}` : 'it has ended and is being cleaned up';
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
    return (
      editsWait(facts) ??
      finding('done', link('the upgrade has ended well', evidence), byItself('Nothing is waited for.'), { says: 'nothing' })
    );
  return finding(
    'failed',
    link(`the upgrade has ended: ${leftOut ?? succeeded?.message ?? ''}`, evidence),
    bySomebody(
      `Correct the causes of its failures (flotilla status), then try those that failed again: ${retryOf(facts)} --failed, or Retry in the console.`,
    ),
  );
}

/** An upgrade that has ended well by another spec than it has now; undefined where it has ended by this one. */
function editsWait(facts: Question['facts']): Finding | undefined {
  const edits = describeEdits(facts.upgrade);
  const { observedGeneration, conditions } = facts.upgrade.status ?? {};
  if (edits?.state === 'unprocessed')
    return finding(
      'not-planned',
      link(
        `the upgrade has ended well, before its spec was edited: ${edits.says}`,
        upgradeEvidence(facts, 'status.observedGeneration', observedGeneration),
      ),
      byItself('A hub that runs and reads this API server processes it within seconds.'),
    );
  const ignored = findCondition(conditions, ClusterGroupUpgradeCondition.editsIgnored);
  if (!edits || !ignored) return undefined;
  return finding(
    'refused',
    link(`the upgrade has ended well, but without the edits of its spec: ${edits.says}`, conditionEvidence(facts, ignored, ignored.type)),
    bySomebody(fixFor(ignored)),
  );
}

function verdictOf(facts: Question['facts']) {
  const succeeded = findCondition(facts.upgrade.status?.conditions, ClusterGroupUpgradeCondition.succeeded);
  return { succeeded, evidence: conditionEvidence(facts, succeeded, ClusterGroupUpgradeCondition.succeeded) };
}

/** Finding for a cluster that the spec selects and blocking upgrades keep out of its rollout, by the annotation that filters. */
export function keptOutWait({ facts, members, cluster, askUpgrade }: ClusterQuestion): Finding | undefined {
  const { spec, status, metadata } = facts.upgrade;
  if (!spec || status?.status.startedAt === undefined || members.batch(cluster) !== undefined) return undefined;
  const find = (ref: UpgradeRef) => objectOf(facts.upgradeAt(ref));
  const of = (ref: UpgradeRef) => judgeBlocking({ metadata, spec: { ...spec, blockingCRs: [ref] } }, find);
  const ref = blockingRefs(facts.upgrade).find((each) => of(each).eligible?.has(cluster) === false);
  const managed = ref && objectOf(facts.cluster(cluster));
  if (!managed || !selectPresent(spec, [managed]).includes(cluster)) return undefined;
  const [name, blocker] = [refKey(ref), find(ref)];
  const record = blocker?.status?.clusters?.find((each) => each.name === cluster);
  const isOpen = isOpenToMembers(facts.upgrade);
  const says = isOpen ? 'is kept out until it has completed' : 'was left out at the start, because it had not completed';
  const first = link(`${cluster} ${says} in ClusterGroupUpgrade ${name}`, {
    object: `ClusterGroupUpgrade ${name}`,
    field: `status.clusters[${cluster}].state`,
    value: record?.state ?? '(none)',
    observedAt: new Date(facts.now).toISOString(),
  });
  if (!isOpen) return finding('gate-blocking', first, bySomebody('Upgrade it by another ClusterGroupUpgrade.'));
  if (of(ref).missing.length + of(ref).incomplete.length > 0) return before(first, askUpgrade(ref, cluster));
  const again = record
    ? `Correct the cause, then try it there again: ${retryOf({ upgrade: blocker ?? facts.upgrade })} ${cluster}`
    : OTHER_BLOCKER;
  return finding('gate-blocking', first, bySomebody(`${again}; or remove ${name} from spec.blockingCRs.`));
}

const OTHER_BLOCKER = 'That one had no part for it: upgrade it by another that completes there';

/** Finding for a cluster that is no part of the upgrade. */
export function strangerWait({ facts, members, cluster }: ClusterQuestion): Finding | undefined {
  if (members.all.has(cluster)) return undefined;
  const seen = facts.cluster(cluster);
  const observedAt = new Date(facts.now).toISOString();
  if (seen.kind === 'read' && !seen.object)
    return finding(
      'not-a-member',
      link(`there is no ManagedCluster ${cluster}`, { ...notFound(`ManagedCluster ${cluster}`), observedAt }),
      bySomebody('Correct the name: kubectl get managedclusters lists those that there are.'),
    );
  const { spec, status } = facts.upgrade;
  const says = `${cluster} is no part of this upgrade`;
  return finding(
    'not-a-member',
    status?.remediationPlan !== undefined
      ? link(says, upgradeEvidence(facts, 'status.remediationPlan', `${members.all.size} clusters`))
      : link(`${says} as far as it is planned`, {
          ...upgradeEvidence(facts, 'spec.clusters', spec?.clusters ?? []),
          observedAt,
          isUnknown: true,
        }),
    bySomebody('It complies already, or is not selected: see spec.clusters and spec.clusterLabelSelectors.'),
  );
}
