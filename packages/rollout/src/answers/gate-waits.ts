/** Why a rollout or its next batch does not start, by the gate that refuses. Pure. */
import { Annotation } from '@flotilla/api';
import { isFinalBackupState, isFinalPrecacheState } from '@flotilla/api/ran';
import { type BlockingRef, blockingRefs, judgeBlocking } from '../gates/blocking.ts';
import { batchGatesOf, type GateInput, type GateName, type Refusal } from '../gates/gates.ts';
import { objectOf, type UpgradeFacts } from './facts.ts';
import { behind, byItself, bySomebody, type Finding, finding, link, specEvidence, upgradeEvidence } from './finding.ts';

/** What a gate is asked with. */
interface GateQuestion {
  readonly facts: UpgradeFacts;
  readonly refusal: Refusal;
  readonly askUpgrade: (ref: BlockingRef) => Finding;
  /** Why the job of the slowest cluster has not ended. */
  readonly askJob: (job: 'precaching' | 'backup') => Finding;
}

/** What the gates look at, from the objects that were read. */
export function gateInputOf(facts: UpgradeFacts): GateInput {
  const { upgrade, now } = facts;
  const { spec, status } = upgrade;
  const planned = [...new Set([...(status?.remediationPlan ?? []).flat(), ...Object.keys(status?.precaching?.status ?? {})])];
  const job = <S extends string>(states: Readonly<Record<string, S>> | undefined, isFinal: (state: S) => boolean) => ({
    finished: planned.every((cluster) => states?.[cluster] !== undefined && isFinal(states[cluster])),
    failed: planned.filter((cluster) => states?.[cluster] !== undefined && isFinal(states[cluster]) && states[cluster] !== 'Succeeded'),
  });
  return {
    ...batchGatesOf(upgrade, { now, talmStrict: false }),
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
  precaching: ({ askJob }) => askJob('precaching'),
  enable: ({ facts }) =>
    finding(
      'gate-enable',
      link('the upgrade is not enabled', specEvidence(facts, 'spec.enable', false)),
      bySomebody('Set spec.enable to true.'),
    ),
  annotations: ({ facts, refusal }) =>
    finding(
      'gate-annotations',
      link(messageOf(refusal), specEvidence(facts, 'metadata.annotations', ownAnnotations(facts))),
      bySomebody('Correct the annotation, or remove it.'),
    ),
  pause: ({ facts, refusal }) =>
    finding(
      'paused',
      link(
        messageOf(refusal),
        specEvidence(facts, `metadata.annotations[${Annotation.paused}]`, facts.upgrade.metadata.annotations?.[Annotation.paused]),
      ),
      bySomebody(`Remove the annotation ${Annotation.paused} from the ClusterGroupUpgrade.`),
      { says: 'the pause to end' },
    ),
  window: windowWait,
  blocking: blockingWait,
  backup: ({ askJob }) => askJob('backup'),
  filter: ({ facts }) =>
    finding(
      'gate-filter',
      link('no cluster has completed in every blocking upgrade', specEvidence(facts, 'spec.blockingCRs', facts.upgrade.spec?.blockingCRs)),
      bySomebody('Upgrade the clusters that failed in the blocking upgrades, then create this upgrade anew.'),
    ),
};

/** Why the gate does not let the upgrade pass. */
export const gateWait = (question: GateQuestion): Finding => gates[question.refusal.gate](question);

const messageOf = ({ progressing, outcome, gate }: Refusal): string =>
  progressing?.message ?? outcome?.progressing.message ?? `gate ${gate} refuses`;

const ownAnnotations = ({ upgrade }: UpgradeFacts) =>
  Object.fromEntries(Object.entries(upgrade.metadata.annotations ?? {}).filter(([key]) => key.startsWith('flotilla.io/')));

function windowWait({ facts, refusal }: GateQuestion): Finding {
  const { annotations = {} } = facts.upgrade.metadata;
  const keys = [
    Annotation.windowSchedule,
    Annotation.windowStart,
    Annotation.windowEnd,
    Annotation.windowDuration,
    Annotation.windowTimezone,
  ];
  const key = keys.find((one) => annotations[one] !== undefined) ?? Annotation.windowStart;
  const first = link(messageOf(refusal), specEvidence(facts, `metadata.annotations[${key}]`, annotations[key] ?? ''));
  const release =
    refusal.wakeAt === undefined
      ? bySomebody('Move or remove the annotations of the window.')
      : byItself('It opens at that time; moving or removing the annotations opens it earlier.', refusal.wakeAt);
  return finding('gate-window', first, release, { says: 'the window to open' });
}

function blockingWait({ facts, askUpgrade }: GateQuestion): Finding {
  const refs = blockingRefs(facts.upgrade);
  const { missing, incomplete } = judgeBlocking(facts.upgrade, (ref) => objectOf(facts.upgradeAt(ref)));
  const unread = refs.find((ref) => facts.upgradeAt(ref).kind === 'unread');
  const blocker = refs.find(({ name }) => missing.includes(name) || incomplete.includes(name)) ?? unread;
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

/** Evidence that a backup of a cluster has not ended. */
export function backupWait(facts: UpgradeFacts, cluster: string): Finding {
  const { backup } = facts.upgrade.status ?? {};
  const message = backup?.messages?.[cluster];
  const state = backup?.status?.[cluster] ?? 'not begun';
  const says = `the backup of ${cluster} is ${state}${message === undefined ? '' : `: ${message}`}`;
  return finding(
    'gate-backup',
    link(
      says,
      upgradeEvidence(
        facts,
        message === undefined ? `status.backup.status[${cluster}]` : `status.backup.messages[${cluster}]`,
        message ?? state,
      ),
    ),
    message === undefined
      ? byItself('It goes on when the backup has ended.')
      : bySomebody('Mend what the message names; it is tried again by itself.'),
    { says: 'their backup' },
  );
}
