/** Translates an observation into an event of a job's machine: pure, one function per state. */
import { Annotation, refOfKey } from '@flotilla/api';
import { JobStatus } from '@flotilla/api/core';
import { cutInMiddle, explain } from '@flotilla/api/ran';
import { type SpokeJobEvent, saidOf, waitBy, waitMessage } from '@flotilla/rollout';
import type { SpokeObservation, WatchedObject } from '../transports/port/port.ts';
import { RETRY_BUDGET } from '../transports/port/refusals.ts';
import { describeSilence } from './agent-silence.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { describeDelay } from './pod-delay.ts';

/** Facts of a step besides the observation. */
export interface StepContext<S extends JobState = JobState> {
  readonly job: Pick<SpokeJob<S, never>, 'machine' | 'names' | 'words' | 'cleansFirst'>;
  readonly upgradeUid: string;
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Time at which the hub gives up on a spoke that does not answer, milliseconds since the epoch. */
  readonly deadlineAt: number;
  /** `namespace/name` of another upgrade that holds this spoke. */
  readonly heldBy: string | undefined;
  /** The holder has its verdict for the spoke: only its leftovers hold the spoke. */
  readonly holderEnded: boolean;
  /** Error of this spoke's last steps, as a sentence. */
  readonly trouble: string | undefined;
  /** Digest of the job's spec; absent when the spec never changes. */
  readonly digest: string | undefined;
  /** The job was stopped: what it left is removed, and nothing begins; default false. */
  readonly isStopping?: boolean;
  /** Since when the cluster is not available, milliseconds since the epoch; undefined when it is, or when nobody says. */
  readonly awaySince?: number | undefined;
  /** Reason that forbids new objects on this spoke. */
  readonly problem?: string | undefined;
  /** See `Workload`. */
  readonly failsWithoutNodes?: boolean | undefined;
}

/** Event, and a sentence for the status while the spoke waits or after it failed. */
interface Meaning {
  readonly event?: SpokeJobEvent;
  readonly message?: string;
  /** Time at which the meaning changes without any event, milliseconds since the epoch. */
  readonly requeueAt?: number;
}

/** Interprets an observation. A result without an event leaves the state as it is. */
export function interpret<S extends JobState>(state: S, spoke: SpokeObservation, context: StepContext<S>): Meaning {
  if (context.job.machine.isFinal(state)) return {};
  if (context.heldBy !== undefined) return interpretHeld(spoke, { ...context, state });
  if (isHeldUp(spoke, context)) return orDeadline({ event: HELD, message: context.problem ?? '' }, spoke, context);
  if (state !== 'NotStarted' && isOutdated(spoke, context.digest))
    return {
      event: { type: 'SPEC_CHANGED' },
      message: waitMessage({ cause: 'precache-prepare', says: 'the spec has changed: starting over' }),
    };
  return orDeadline(interpreters[state](spoke, { ...context, state }), spoke, context);
}

/** True when a problem forbids the job and no job exists yet. */
export const isHeldUp = ({ job }: Pick<SpokeObservation, 'job'>, { problem }: Pick<StepContext, 'problem'>): boolean =>
  problem !== undefined && !job;

/** Facts of an interpreter besides the observation. */
interface Basis {
  readonly upgradeUid: string;
  readonly cluster: string;
  readonly digest: string | undefined;
  readonly job: Pick<SpokeJob<JobState, never>, 'names' | 'words' | 'cleansFirst'>;
  readonly state: JobState;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly awaySince?: number | undefined;
  readonly failsWithoutNodes?: boolean | undefined;
}

type Interpreter = (spoke: SpokeObservation, basis: Basis) => Meaning;

const nothingToDecide: Interpreter = () => ({});

/** The type makes a state without an interpreter a compile error. */
const interpreters: Readonly<Record<JobState, Interpreter>> = {
  NotStarted: () => ({ event: { type: 'START' } }),
  PreparingToStart: interpretPreparing,
  Starting: interpretStarting,
  Active: interpretActive,
  Succeeded: nothingToDecide,
  PrecacheTimeout: nothingToDecide,
  BackupTimeout: nothingToDecide,
  UnrecoverableError: nothingToDecide,
};

/**
 * A working holder ends by its own deadline, but leftovers of an ended one may stay as long as the spoke is away. So only an ended holder lets the
 * deadline pass.
 */
function interpretHeld(
  { available }: SpokeObservation,
  { job, heldBy, holderEnded, now, deadlineAt, cluster }: Basis & Omit<StepContext, 'job'>,
): Meaning {
  const holder = `waits for ClusterGroupUpgrade ${heldBy}`;
  const isLate = holderEnded && now >= deadlineAt;
  // Cleaning an available spoke takes a moment and counts as the holder's work.
  if (!isLate && (!holderEnded || available)) {
    const says = `${holder}, which is ${job.words.doing} this cluster`;
    // One that is gone already has no name.
    const behind = heldBy?.includes('/') ? refOfKey(heldBy) : undefined;
    return { event: HELD, message: waitMessage({ cause: 'precache-claim', says, behind }) };
  }
  const says = `${holder}, which has ended and could not yet remove from this cluster what it left there`;
  if (isLate) return { event: { type: 'DEADLINE' }, message: `timed out: ${says}` };
  return { event: HELD, message: waitMessage(waitBy('precache-claim', 'ClusterUnavailable', says, { cluster })) };
}

/** True for an object of another spec. An object without a digest predates digests and counts as ours. */
const isOther = (digest: string | undefined, wanted: string | undefined): boolean =>
  digest !== undefined && wanted !== undefined && digest !== wanted;

/** True when an object of ours, on hub or spoke, was made for another spec: its verdict is about other images. */
const isOutdated = ({ digests }: SpokeObservation, wanted: string | undefined): boolean =>
  digests.some((digest) => isOther(digest, wanted));

/** Events that do not end the wait for a spoke. */
const PROVISIONAL: ReadonlySet<SpokeJobEvent['type']> = new Set([
  'HELD',
  'UNAVAILABLE',
  'RETRY',
  'START',
  'JOB_ACTIVE',
  'CLEANUP_REQUESTED',
]);

/** Ends the wait at the hub's deadline unless there is a verdict. */
function orDeadline(
  meaning: Meaning,
  spoke: SpokeObservation,
  { now, deadlineAt, trouble }: Pick<StepContext, 'now' | 'deadlineAt' | 'trouble'>,
): Meaning {
  const isVerdict = meaning.event && !PROVISIONAL.has(meaning.event.type);
  if (isVerdict || now < deadlineAt) return meaning;
  const reason = spoke.available ? (meaning.message ?? 'the cluster gave no verdict') : 'the cluster is not available';
  return { event: { type: 'DEADLINE' }, message: `timed out: ${trouble ?? saidOf(reason)}` };
}

const HELD = { type: 'HELD' } as const;
const UNAVAILABLE = { type: 'UNAVAILABLE' } as const;

const unavailable = (basis: Basis, says = `${basis.job.words.work} goes on when it is`): Meaning => ({
  event: UNAVAILABLE,
  message: waitMessage({
    ...waitBy('cluster-unavailable', 'ClusterUnavailable', `the cluster is not available; ${says}`, { cluster: basis.cluster }),
    since: basis.awaySince,
  }),
});

const unseen = ({ cluster }: Basis, says: string): string =>
  waitMessage({
    cause: 'precache-problem',
    says,
    fix: `see whether the API server of ${cluster} answers its agent, and whether the agent may read what is named`,
  });

function interpretPreparing(spoke: SpokeObservation, basis: Basis): Meaning {
  const { upgradeUid, digest, job } = basis;
  const { available, namespace, failure } = spoke;
  if (job.cleansFirst) return available ? { event: { type: 'CLEANUP_REQUESTED' } } : unavailable(basis);
  const answer = namespace?.answer;
  if (answer?.kind === 'absent') return { event: { type: 'NAMESPACE_GONE' } };
  if (answer?.kind === 'found') {
    const { metadata } = answer.object;
    // This attempt created the namespace before its state was stored, so there is nothing to clean.
    const { [Annotation.upgradeUid]: owner, [Annotation.specDigest]: spec } = metadata.annotations ?? {};
    if (owner === upgradeUid && !isOther(spec, digest) && !metadata.deletionTimestamp) return { event: { type: 'NAMESPACE_GONE' } };
    if (!available) return unavailable(basis);
    const says = `removing what an earlier attempt left on the cluster${failure ? `: ${failure.message}` : ''}`;
    return {
      event: { type: 'CLEANUP_REQUESTED' },
      message: waitMessage({ cause: failure ? 'precache-problem' : 'precache-prepare', says }),
    };
  }
  if (answer?.kind === 'unknown') return { message: unseen(basis, `cannot see namespace on the cluster: ${answer.message}`) };
  return available ? describeSilence(spoke, basis) : unavailable(basis);
}

function interpretStarting(spoke: SpokeObservation, basis: Basis): Meaning {
  const { available, losses } = spoke;
  const { job, now } = basis;
  const meaning = spoke.job ? orRefusedNodes(interpretJob(spoke.job, spoke, basis), spoke, basis) : {};
  if (meaning.event) return meaning;
  const failure = spoke.job ? undefined : spoke.failure;
  if (failure?.finalAt !== undefined && now >= failure.finalAt) return { event: { type: 'FAILED' }, message: failure.message };
  if (spoke.job?.answer.kind === 'absent' && losses >= RETRY_BUDGET)
    return { event: { type: 'FAILED' }, message: `job ${job.names.job} disappears from the cluster as soon as it is created` };
  if (meaning.message) return meaning;
  if (!available) return unavailable(basis);
  return failure
    ? { event: { type: 'RETRY' }, message: failure.message, ...(failure.finalAt !== undefined && { requeueAt: failure.finalAt }) }
    : describeSilence(spoke, basis);
}

function interpretActive(spoke: SpokeObservation, basis: Basis): Meaning {
  const { available, job } = spoke;
  const { names, words } = basis.job;
  if (!job) return {};
  if (job.answer.kind === 'absent') return { event: { type: 'FAILED' }, message: `job ${names.job} was deleted from the cluster` };
  const meaning = orRefusedNodes(interpretJob(job, spoke, basis), spoke, basis);
  return meaning.event?.type === 'JOB_ACTIVE' && !available ? unavailable(basis, `last seen ${words.active}`) : meaning;
}

/** Ends a job that would wait in vain for its other nodes: the spoke does not let their pullers be created. */
function orRefusedNodes(meaning: Meaning, { nodesFailure }: SpokeObservation, basis: Basis): Meaning {
  const isVerdict = meaning.event && !PROVISIONAL.has(meaning.event.type);
  if (isVerdict || !basis.failsWithoutNodes || nodesFailure?.finalAt === undefined) return meaning;
  const { finalAt, message } = nodesFailure;
  if (basis.now < finalAt) return { ...meaning, requeueAt: Math.min(meaning.requeueAt ?? finalAt, finalAt) };
  const said = explain('NodesRefused', `its other nodes cannot be filled: ${quoteRefusal(message)}`, { cluster: basis.cluster });
  return { event: { type: 'FAILED' }, message: said };
}

/** Longest refusal that leaves room for the fix in a status, in characters. */
const MAX_REFUSAL = 112;

/** Quotes who refuses, and why: what is refused is said already, and the binding of a policy tells nobody anything. */
function quoteRefusal(message: string): string {
  const [, refusal = message] = message.split(' is forbidden: ', 2);
  const why = refusal.replace(/ with binding '[^']*'/, '');
  return why.length <= MAX_REFUSAL ? why : `${why.slice(0, MAX_REFUSAL - 1)}…`;
}

/** Longest reason that a verdict quotes from a spoke, in characters: a status shows 512. */
const MAX_WHY = 1_024;

/** Name that a puller gives for a kubelet's configuration that it could not read: no setting of the cluster. */
const UNREAD = 'kubelet configuration';

/** Name that a puller gives for pins that were asked for and are not there. */
const PINS = 'pins';

/** Says what would take the images away again, or keep the kubelet from using them, and which nodes nobody could ask. */
function describeRisks(report: SpokeObservation['report'], { cluster }: Basis): { message?: string } {
  if (!report) return {};
  const { risks = [] } = report;
  const others = risks.filter(({ name }) => name !== UNREAD && name !== PINS);
  const byNode = Map.groupBy(others, ({ node = report.node }) => (node === undefined ? 'its node' : `node ${node}`));
  const has = [...byNode].map(([node, own]) => `${node} has ${own.map(({ name, value }) => `${name} ${value}`).join(', ')}`);
  const { absent = 0, total = 0, problems = [] } = report.nodes ?? {};
  const names = problems.map(({ node }) => node).join(', ');
  const away = absent > 0 ? [`${absent} of ${total} nodes stayed away${names === '' ? '' : `: ${names}`}`] : [];
  const said = [...has, ...away];
  const unpinned = describePins(risks);
  if (said.length === 0) return unpinned.length > 0 ? { message: explain('NoPins', unpinned.join('; '), { cluster }) } : {};
  return { message: explain('CacheAtRisk', `the images are there, but ${[...said, ...unpinned].join('; ')}`, { cluster }) };
}

/** Says where images have no pins although they were asked for. A value is `none: why`, or how many there are. */
function describePins(risks: readonly { readonly name: string; readonly value: string }[]): string[] {
  const values = risks.filter(({ name }) => name === PINS).map(({ value }) => value);
  const [first] = values;
  if (first === undefined) return [];
  const where = values.length > 1 ? `; ${values.length} nodes` : '';
  return [
    first.startsWith('none')
      ? `no pins: headroom alone (${first}${where})`
      : `too few pins: headroom alone for the rest (${first}${where})`,
  ];
}

/** True where nothing is known to be missing: every node that came is whole. */
const isAbsenceAlone = (report: SpokeObservation['report']): boolean =>
  report?.phase === 'failed' && report.nodes !== undefined && report.nodes.failed === 0 && report.nodes.absent > 0;

/** Reads the verdict of a Job (spec/talm 3.4); an empty status right after creation is no verdict. */
function interpretJob({ answer, since }: WatchedObject, { available, report }: SpokeObservation, basis: Basis): Meaning {
  const name = basis.job.names.job;
  if (answer.kind === 'unknown') return { message: unseen(basis, `cannot see job ${name} on the cluster: ${answer.message}`) };
  if (answer.kind !== 'found') return {};
  const status = JobStatus.safeParse(answer.object.status ?? {});
  if (!status.success) return { message: `the status of job ${name} is malformed` };
  const { active = 0, succeeded = 0, conditions } = status.data;
  if (succeeded > 0) return { event: { type: 'SUCCEEDED' }, ...describeRisks(report, basis) };
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  if (failed) {
    const why = cutInMiddle(report?.message ?? failed.message ?? failed.reason ?? 'no reason given', MAX_WHY);
    return failed.reason === 'DeadlineExceeded' || isAbsenceAlone(report)
      ? { event: { type: 'DEADLINE' }, message: `timed out: ${why}` }
      : { event: { type: 'FAILED' }, message: why };
  }
  // A reporting pod runs already, and a job that had a pod is about to end.
  const isAwaited = available && !report && (active > 0 || basis.state === 'Starting');
  const said = report?.message === undefined ? {} : { message: cutInMiddle(report.message, MAX_WHY) };
  const delay = isAwaited ? describeDelay(since, status.data, basis) : said;
  return active > 0
    ? { event: { type: 'JOB_ACTIVE' }, ...delay }
    : { message: waitMessage({ cause: 'precache-start', says: `job ${name} has no running pod yet` }), ...delay };
}
