/** Why a rollout or its next batch does not start, by the gate that refuses. Pure. */
import { isFinalBackupState, isFinalPrecacheState } from '@flotilla/api/ran';
import { blockingRefs, judgeBlocking } from '../gates/blocking.ts';
import { batchGatesOf, type GateInput, type GateName, type Refusal } from '../gates/gates.ts';
import { WINDOW_KEYS } from '../upgrade/annotations.ts';
import type { UpgradeRef } from '../upgrade/identity.ts';
import { backupWait } from './backup-waits.ts';
import { decidesAsReference, objectOf, type UpgradeFacts } from './facts.ts';
import { behind, byItself, bySomebody, type Finding, finding, link, specEvidence, upgradeEvidence } from './finding.ts';
import { least } from './least.ts';
import { pausedWait } from './presence.ts';
import type { Question } from './question.ts';

interface GateQuestion {
  readonly asked: Question;
  readonly refusal: Refusal;
}

/** Builds the input of the gates from the objects that were read. */
export function gateInputOf(facts: UpgradeFacts): GateInput {
  const { upgrade, now } = facts;
  const { spec, status } = upgrade;
  const planned = [...new Set([...(status?.remediationPlan ?? []).flat(), ...Object.keys(status?.precaching?.status ?? {})])];
  const job = <S extends string>(states: Readonly<Record<string, S>> | undefined, isFinal: (state: S) => boolean) => ({
    finished: planned.every((cluster) => states?.[cluster] !== undefined && isFinal(states[cluster])),
    failed: planned.filter((cluster) => states?.[cluster] !== undefined && isFinal(states[cluster]) && states[cluster] !== 'Succeeded'),
  });
  return {
    ...batchGatesOf(upgrade, { now, talmStrict: decidesAsReference(upgrade) }),
    enabled: spec?.enable ?? true,
    canaries: spec?.remediationStrategy.canaries ?? [],
    planned,
    precaching: spec?.preCaching && planned.length > 0 ? job(status?.precaching?.status, isFinalPrecacheState) : undefined,
    // An upgrade that could not be read is not known to have ended, so it is asked about.
    blocking: judgeBlocking(upgrade, (ref) => {
      const seen = facts.upgradeAt(ref);
      return seen.kind === 'read' ? seen.object : { ...upgrade, status: undefined };
    }),
    wantsBackup: (spec?.backup ?? false) && planned.length > 0,
    backup: status?.backup && job(status.backup.status, isFinalBackupState),
  };
}

/** A gate that is added and forgotten here does not compile. */
const gates: Readonly<Record<GateName, (question: GateQuestion) => Finding>> = {
  precaching: ({ asked }) => jobWait('precaching', asked),
  enable: ({ asked: { facts } }) =>
    finding(
      'gate-enable',
      link('the upgrade is not enabled', specEvidence(facts, 'spec.enable', false)),
      bySomebody('Set spec.enable to true.'),
    ),
  annotations: ({ asked: { facts }, refusal }) =>
    finding(
      'gate-annotations',
      link(messageOf(refusal), specEvidence(facts, 'metadata.annotations', ownAnnotations(facts))),
      bySomebody('Correct the annotation, or remove it.'),
    ),
  version: ({ asked: { facts }, refusal }) =>
    finding(
      'work',
      link(messageOf(refusal), upgradeEvidence(facts, 'status.manifestWorkVersions', facts.upgrade.status?.manifestWorkVersions ?? [])),
      bySomebody('Put the ManifestWorkReplicaSet back as it was, or delete the upgrade and create it again.'),
    ),
  pause: ({ asked, refusal }) =>
    pausedWait(asked) ?? finding('paused', link(messageOf(refusal), specEvidence(asked.facts, 'metadata.annotations', {})), NOTHING),
  window: windowWait,
  blocking: blockingWait,
  backup: ({ asked }) => jobWait('backup', asked),
  preparation: ({ asked: { facts }, refusal }) =>
    finding(
      'edits',
      link(messageOf(refusal), upgradeEvidence(facts, 'status.batchesAtStart', facts.upgrade.status?.batchesAtStart ?? 0)),
      byItself('It goes on when the labels and annotations of spec.actions.beforeEnable are on the clusters.'),
      { says: 'their first edits' },
    ),
  filter: ({ asked: { facts } }) =>
    finding(
      'gate-filter',
      link('no cluster has completed in every blocking upgrade', specEvidence(facts, 'spec.blockingCRs', facts.upgrade.spec?.blockingCRs)),
      bySomebody('Upgrade the clusters that failed in the blocking upgrades, then create this upgrade anew.'),
    ),
};

const NOTHING = bySomebody('Remove the annotation that pauses the upgrade.');

/** Why the gate does not let the upgrade pass. */
export const gateWait = (asked: Question, refusal: Refusal): Finding => gates[refusal.gate]({ asked, refusal });

const messageOf = ({ progressing, outcome, gate }: Refusal): string =>
  progressing?.message ?? outcome?.progressing.message ?? `gate ${gate} refuses`;

const ownAnnotations = ({ upgrade }: UpgradeFacts) =>
  Object.fromEntries(Object.entries(upgrade.metadata.annotations ?? {}).filter(([key]) => key.startsWith('flotilla.io/')));

function windowWait({ asked: { facts }, refusal }: GateQuestion): Finding {
  const { annotations = {} } = facts.upgrade.metadata;
  const keys = [WINDOW_KEYS.schedule, ...Object.values(WINDOW_KEYS)];
  const key = keys.find((one) => annotations[one] !== undefined) ?? WINDOW_KEYS.start;
  const first = link(messageOf(refusal), specEvidence(facts, `metadata.annotations[${key}]`, annotations[key] ?? ''));
  const release =
    refusal.wakeAt === undefined
      ? bySomebody('Move or remove the annotations of the window.')
      : byItself('It opens at that time; moving or removing the annotations opens it earlier.', refusal.wakeAt);
  return finding('gate-window', first, release, { says: 'the window to open' });
}

function blockingWait({ asked: { facts, askUpgrade } }: GateQuestion): Finding {
  const refs = blockingRefs(facts.upgrade);
  // The verdict has names alone, which upgrades of two namespaces may share.
  const blocks = (one: UpgradeRef): boolean => {
    const { upgrade } = facts;
    const alone = { ...upgrade, spec: upgrade.spec && { ...upgrade.spec, blockingCRs: [one] } };
    const { missing, incomplete } = judgeBlocking(alone, (ref) => objectOf(facts.upgradeAt(ref)));
    return missing.length + incomplete.length > 0;
  };
  const unread = refs.find((ref) => facts.upgradeAt(ref).kind === 'unread');
  const blocker = refs.find(blocks) ?? unread;
  const name = blocker ? `${blocker.namespace}/${blocker.name}` : '(none)';
  const first = link(`waits for ClusterGroupUpgrade ${name} to complete`, specEvidence(facts, 'spec.blockingCRs', name));
  const own = { cause: 'gate-blocking', says: `ClusterGroupUpgrade ${name} to complete` } as const;
  if (!blocker) return finding('gate-blocking', first, byItself('It goes on when the blocking upgrades have completed.'), own);
  const seen = facts.upgradeAt(blocker);
  if (seen.kind === 'unread')
    return finding(
      'gate-blocking',
      { ...first, isUnknown: true },
      bySomebody(`Ask who may read ClusterGroupUpgrade ${name}: ${seen.why}.`),
      own,
    );
  if (seen.kind === 'read' && !seen.object)
    return finding(
      'gate-blocking',
      link(`waits for ClusterGroupUpgrade ${name}, which does not exist`, specEvidence(facts, 'spec.blockingCRs', name)),
      bySomebody('Create it, or take it out of spec.blockingCRs.'),
      own,
    );
  return behind(first, askUpgrade(blocker), own);
}

/** The job of the cluster that is least far; of those that are equally far one of which the hub has something to say. */
function jobWait(job: 'precaching' | 'backup', asked: Question): Finding {
  const { facts, members, askCluster } = asked;
  const { status } = facts.upgrade;
  const states: Readonly<Record<string, string>> = status?.[job]?.status ?? {};
  const isFinal = (cluster: string) => {
    const backup = status?.backup?.status?.[cluster];
    const precaching = status?.precaching?.status?.[cluster];
    return job === 'backup'
      ? backup !== undefined && isFinalBackupState(backup)
      : precaching !== undefined && isFinalPrecacheState(precaching);
  };
  const open = [...new Set([...members.planned, ...Object.keys(states)])].filter((cluster) => !isFinal(cluster));
  const order = ['NotStarted', 'PreparingToStart', 'Starting', 'Active'];
  const slowest = least(open, (cluster) => order.indexOf(states[cluster] ?? '') * 2 + (status?.[job]?.messages?.[cluster] ? 0 : 1));
  if (slowest === undefined)
    return finding(
      'failed',
      link(`${job} has failed on clusters that the rollout needs`, upgradeEvidence(facts, `status.${job}.status`, states)),
      bySomebody('Mend what its clusters say (flotilla status), then try them again: flotilla retry, or Retry in the console.'),
    );
  const rest = job === 'backup' ? backupWait({ ...asked, cluster: slowest }) : askCluster(slowest);
  const says = `${job === 'backup' ? 'the backup' : 'pre-caching'} of ${open.length} clusters is not over; the least far is ${slowest}`;
  return behind(link(says, upgradeEvidence(facts, `status.${job}.status`, `${open.length} not over`)), rest, rest.own);
}
