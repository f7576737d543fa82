/** Judges how far a cluster has applied a release, by its ClusterVersion and ClusterOperators alone: those of our operator and the reference's. Pure. */
import { describeUnprocessed, findCondition, isSpecUnprocessed } from '@flotilla/api';
import type { Figure, PayloadStatusAnswer, PayloadWait } from '@flotilla/api/answers';
import type { ClusterOperator, ClusterVersion, UpdateHistory } from '@flotilla/api/config';
import { exact, forecast, unknown } from '@flotilla/rollout';

/** Objects of a cluster. */
export interface ReadPayload {
  readonly server: string;
  readonly version: ClusterVersion;
  readonly operators: readonly ClusterOperator[];
  readonly notes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Operators that an answer names at most. */
const MOST_WAITS = 20;

/** Says how far it is, what is waited for, and when it ends. */
export function judgePayload(read: ReadPayload): PayloadStatusAnswer {
  const answer = judgeStatus(read);
  return answer.stage === 'applied' && isSpecUnprocessed(read.version) ? beforeUpdate(answer, read.version) : answer;
}

/** The answer while nothing has been applied yet of what the spec asks for, for no operator has processed it or its release is fetched. */
function beforeUpdate({ server, notes, ...applied }: PayloadStatusAnswer, { spec, ...object }: ClusterVersion): PayloadStatusAnswer {
  const wanted = spec?.desiredUpdate?.version || applied.version;
  const accepted = findCondition(object.status?.conditions, 'ReleaseAccepted');
  const fetching = accepted?.status === 'Unknown' ? accepted.message : undefined;
  return {
    server,
    stage: 'applying',
    version: wanted,
    from: wanted === applied.version ? applied.from : applied.version,
    says: fetching || describeUnprocessed('operator', object),
    waits: [],
    secondsLeft: unknown('nothing of it is applied yet'),
    notes,
  };
}

/** The answer by the status, whichever generation of the spec that is about. */
function judgeStatus(read: ReadPayload): PayloadStatusAnswer {
  const { server, version, notes, now } = read;
  const { conditions, history, desired } = version.status ?? {};
  const [current] = history ?? [];
  const progressing = findCondition(conditions, 'Progressing');
  const stage = stageOf(version);
  const says = sentenceOf(version, stage);
  const level = stage === 'applied' ? undefined : levelOf(progressing?.message ?? '');
  const isUnderWay = stage === 'applying' || stage === 'failing';
  const secondsLeft =
    stage === 'applied' ? exact(0) : isUnderWay ? timeLeft(history ?? [], level, now) : unknown('nothing is being applied');
  const endsAt = isUnderWay && secondsLeft.value !== undefined ? new Date(now + secondsLeft.value * 1000).toISOString() : undefined;
  const since = stage === 'applied' ? current?.completionTime : findCondition(conditions, conditionsOf[stage])?.lastTransitionTime;
  return {
    server,
    stage,
    version: current?.version || desired?.version || undefined,
    from: history?.find((entry, at) => at > 0 && entry.state === 'Completed')?.version || undefined,
    startedAt: current?.startedTime || undefined,
    completedAt: current?.completionTime || undefined,
    level,
    says,
    since: since || undefined,
    waits: isUnderWay ? waitsOf(read, says) : [],
    secondsLeft,
    endsAt,
    notes: [...notes],
  };
}

const conditionsOf = { applied: 'Available', applying: 'Progressing', failing: 'Failing', refused: 'ReleaseAccepted', unseen: '' } as const;

function stageOf({ status }: ClusterVersion): PayloadStatusAnswer['stage'] {
  const { conditions = [], history = [] } = status ?? {};
  if (history.length === 0 && (conditions?.length ?? 0) === 0) return 'unseen';
  if (findCondition(conditions, 'Failing')?.status === 'True') return 'failing';
  if (findCondition(conditions, 'ReleaseAccepted')?.status === 'False' || findCondition(conditions, 'Invalid')?.status === 'True')
    return 'refused';
  return history[0]?.state === 'Completed' ? 'applied' : 'applying';
}

function sentenceOf({ status }: ClusterVersion, stage: PayloadStatusAnswer['stage']): string {
  const said = (type: string) => findCondition(status?.conditions, type)?.message || undefined;
  switch (stage) {
    case 'unseen':
      return 'no version operator has looked at the ClusterVersion yet: see that one runs on the cluster';
    case 'refused':
      return said('ReleaseAccepted') ?? said('Invalid') ?? 'the release that is wanted is not taken';
    case 'failing':
      return said('Failing') ?? said('Progressing') ?? 'the release cannot be applied';
    case 'applied':
    case 'applying':
      return said('Progressing') ?? (stage === 'applied' ? 'the release is applied' : 'the release is being applied');
  }
}

/** Both operators count manifests in these words. */
const COUNTED = /\b(\d{1,6}) of (\d{1,6}) done\b/;

function levelOf(message: string): PayloadStatusAnswer['level'] {
  const [, done, total] = COUNTED.exec(message) ?? [];
  return done === undefined || total === undefined ? undefined : { done: Number(done), total: Number(total) };
}

/** Conditions of an operator that keep a release waiting, the worst first. */
const KEEPING = [
  { type: 'Available', status: 'False' },
  { type: 'Degraded', status: 'True' },
  { type: 'Progressing', status: 'True' },
] as const;

function waitsOf({ version, operators }: ReadPayload, says: string): PayloadWait[] {
  const words = new Set(`${says} ${findCondition(version.status?.conditions, 'Progressing')?.message ?? ''}`.split(/[\s,;:]+/));
  return operators
    .flatMap((operator) => {
      const { name } = operator.metadata;
      const conditions = operator.status?.conditions ?? [];
      const found = KEEPING.map(({ type, status }) => conditions?.find((each) => each.type === type && each.status === status)).find(
        Boolean,
      );
      const isNamed = words.has(name);
      if (!found && !isNamed) return [];
      const { type, status, message = '', reason = '', lastTransitionTime } = found ?? {};
      const state = found ? `${type}=${status}: ${message || reason || 'no reason given'}` : 'has not reported the release yet';
      return [{ operator: name, says: state, isNamed, ...(lastTransitionTime && { since: lastTransitionTime }) }];
    })
    .toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed) || (a.operator < b.operator ? -1 : 1))
    .slice(0, MOST_WAITS);
}

/** By the median of the updates before, else by the pace so far; the first entry of all is the installation, which says nothing of updates. */
function timeLeft(history: readonly UpdateHistory[], level: PayloadStatusAnswer['level'], now: number): Figure {
  const begun = Date.parse(history[0]?.startedTime ?? '');
  if (Number.isNaN(begun)) return unknown('nobody says when it was begun');
  const took = history
    .slice(1, -1)
    .flatMap(({ state, startedTime, completionTime }) =>
      state === 'Completed' ? [Date.parse(completionTime ?? '') - Date.parse(startedTime)] : [],
    )
    .filter((ms) => ms > 0)
    .toSorted((a, b) => a - b);
  const median = took[Math.floor(took.length / 2)];
  const elapsed = now - begun;
  if (median !== undefined && elapsed < median)
    return forecastMs(
      median - elapsed,
      `the last ${took.length === 1 ? 'update' : `${took.length} updates, by their median,`} took ${Math.round(median / 60_000)} min`,
    );
  if (!level || level.done === 0 || elapsed <= 0)
    return unknown(
      median === undefined ? 'no update has ended before, and no manifest is applied yet' : 'it takes longer than the updates before',
    );
  return forecastMs(
    (elapsed / level.done) * (level.total - level.done),
    `${level.done} of ${level.total} manifests took ${Math.round(elapsed / 60_000)} min`,
  );
}

const forecastMs = (ms: number, why: string): Figure => forecast(Math.ceil(ms / 1000), why);
