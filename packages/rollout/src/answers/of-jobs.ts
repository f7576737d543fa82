/** Waits of clusters for a job, by its stored state, where the hub has said nothing else. Pure. */
import {
  BackupName,
  type BackupState,
  isFinalPrecacheState,
  type PrecacheProgress,
  type PrecacheState,
  SpokeName,
} from '@flotilla/api/ran';
import { bytes } from '@flotilla/api/units';
import { isRunning } from '../upgrade/stage.ts';
import { masked, readWait, saidOf, type Wait } from '../waits/wait.ts';
import { datedReport, silence } from './evidence.ts';
import { bySomebody, type ClusterQuestion, type Finding, finding, findingOf, link, plainWait, upgradeEvidence } from './finding.ts';

/** A job by the field of the status that has its states. */
export type Job = 'precaching' | 'backup';
type State = PrecacheState | BackupState;
type Open = Exclude<State, 'Succeeded' | 'PrecacheTimeout' | 'BackupTimeout' | 'UnrecoverableError'>;

const ACTION_OF_PRECACHING: Readonly<Record<Open, Wait>> = {
  NotStarted: { cause: 'precache-line', says: 'waits in line for pre-caching to begin' },
  PreparingToStart: { cause: 'precache-prepare', says: 'is looked at for what an earlier attempt left there' },
  Starting: { cause: 'precache-start', says: 'has been given the job, whose pod does not run yet' },
  Active: { cause: 'precache-pull', says: 'pulls; it has not reported how far it is' },
};

/** A state that is added to the machine and forgotten here does not compile. */
const STATES: Readonly<Record<Job, Readonly<Record<Open, Wait>>>> = {
  precaching: ACTION_OF_PRECACHING,
  backup: {
    NotStarted: { cause: 'gate-backup', says: 'waits for its backup to begin' },
    PreparingToStart: { cause: 'gate-backup', says: 'is cleaned of what an earlier backup left there' },
    Starting: { cause: 'gate-backup', says: `has been given the backup, whose pod does not run yet (Job ${BackupName.job})` },
    Active: { cause: 'gate-backup', says: 'is being backed up' },
  },
};
const NAMES: Readonly<Record<Job, { readonly failed: string; readonly noun: string }>> = {
  precaching: { failed: 'failed to pre-cache', noun: 'pre-caching' },
  backup: { failed: 'failed its backup', noun: 'the backup' },
};

/** The stored state of a cluster's job; undefined: none is stored. */
export const jobStateOf = ({ facts, cluster }: Pick<ClusterQuestion, 'facts' | 'cluster'>, job: Job): State | undefined =>
  facts.upgrade.status?.[job]?.status?.[cluster];

/** Why a cluster is not cached; undefined when it is, or need not be any more. */
export function precacheWait(question: ClusterQuestion): Finding | undefined {
  const { upgrade } = question.facts;
  const state = upgrade.status?.precaching?.status?.[question.cluster];
  if (!state) return undefined;
  // In a rollout that runs, clusters that came after its start pull.
  const isOver = isRunning(upgrade) && (isFinalPrecacheState(state) || upgrade.status?.batchesAtStart === undefined);
  return isOver ? undefined : jobWait(question, 'precaching');
}

/** Why the job of a cluster has not ended well; undefined when it has. */
export function jobWait(question: ClusterQuestion, job: Job): Finding | undefined {
  const { facts, cluster } = question;
  const state = jobStateOf(question, job) ?? 'NotStarted';
  if (state === 'Succeeded') return undefined;
  const { messages = {} } = facts.upgrade.status?.[job] ?? {};
  const message = messages[cluster];
  const evidence = (field: string, value: unknown) => upgradeEvidence(facts, `status.${job}.${field}[${cluster}]`, value);
  if (!isOpen(state)) return failure(question, job, { state, message: saidOf(message ?? 'without a sentence') });
  const isBegun = state !== 'NotStarted';
  if (message !== undefined) {
    const wait = readWait(message) ?? plainWait(job === 'backup' ? 'gate-backup' : 'precache-problem', message);
    const heard = wait.cause === 'precache-pull' || wait.cause === 'precache-start' ? silence(question) : undefined;
    return heard ?? findingOf(question, job === 'backup' ? ofBackup(wait) : wait, evidence('messages', message), cluster);
  }
  const progress = job === 'precaching' && state === 'Active' ? facts.upgrade.status?.precaching?.progress?.[cluster] : undefined;
  const heard = isBegun ? silence(question) : undefined;
  if (heard) return heard;
  if (!progress) return findingOf(question, STATES[job][state], evidence('status', state), cluster);
  const age = datedReport(progress.at, question.members.all.size, facts.now);
  return findingOf(question, pulling(progress, question, age.isUnknown), { ...evidence('progress', progress), ...age }, cluster);
}

const isOpen = (state: State): state is Open => Object.hasOwn(ACTION_OF_PRECACHING, state);

/** A problem of a backup's job is one of the gate. */
const ofBackup = (wait: Wait): Wait =>
  wait.cause.startsWith('precache-') && wait.cause !== 'precache-claim' ? { ...wait, cause: 'gate-backup' } : wait;

/** The hub's Lease dates the status and not the pull: an agent may be cut off while the cluster is available. */
function pulling(progress: PrecacheProgress, { facts, cluster }: ClusterQuestion, isOld: boolean): Wait {
  const { imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond, at } = progress;
  const isListing = imagesTotal === 0;
  const says = isListing
    ? 'asks its registries which images there are'
    : `pulls: ${imagesDone} of ${imagesTotal} images, ${bytes(bytesDone)} of ${bytes(bytesTotal)}`;
  if (isOld) {
    const age = at === undefined ? 'the report has no date' : `nothing else is reported since ${at}`;
    const fix = `it ends when the bytes that are left are there: see the agent on ${cluster}, and the pod of Job ${SpokeName.job} there`;
    return { cause: 'precache-pull', says: `${says}; ${age}`, fix };
  }
  if (isListing) return { cause: 'precache-pull', says };
  const until = bytesPerSecond > 0 ? facts.now + (Math.max(bytesTotal - bytesDone, 0) / bytesPerSecond) * 1000 : undefined;
  return { cause: 'precache-pull', says: until === undefined ? `${says}; no rate is reported` : says, until };
}

function failure(
  { facts, cluster }: ClusterQuestion,
  job: Job,
  { state, message }: { readonly state: State; readonly message: string },
): Finding {
  const { failed, noun } = NAMES[job];
  const { metadata } = facts.upgrade;
  const retry = `flotilla retry -n ${metadata.namespace} ${metadata.name} ${cluster}`;
  // A cluster that failed its backup is out of the rollout: only the next upgrade has it again.
  const advice =
    job === 'backup'
      ? `Correct the cause that the message names; once the upgrade has ended, try the cluster again: ${retry}.`
      : `Correct the cause that the message names, then try the cluster again: ${retry}.`;
  return finding(
    'failed',
    link(`${cluster} ${failed} (${state}): ${message}`, upgradeEvidence(facts, `status.${job}.status[${cluster}]`, state)),
    bySomebody(advice),
    { says: `${noun} failed: ${masked(message, cluster)}` },
  );
}
