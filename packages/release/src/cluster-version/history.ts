import { conditionTime } from '@flotilla/api';
import type { UpdateHistory } from '@flotilla/api/config';

/** Facts that the history records of the release that a cluster is being sent to. */
export interface HistoryUpdate {
  readonly version: string;
  readonly image: string;
  /** A pass over all of it has ended well. */
  readonly completed: boolean;
  readonly verified: boolean;
  /** Why it was taken all the same; undefined for the release that the operator itself is of, whose record stays. */
  readonly acceptedRisks?: string | undefined;
  readonly nowMs: number;
}

/** Entries that are kept. */
const MOST_ENTRIES = 100;

/** History with what is being applied on top (spec/cvo 5.5). Newest first. */
export function historyAfter(history: readonly UpdateHistory[], update: HistoryUpdate): readonly UpdateHistory[] {
  // without an image nobody could come back to it
  if (update.image === '') return history;
  const [newest, ...older] = history;
  if (newest === undefined) return [entryOf(update)];
  if (isSame(newest, update)) return [withUpdate(newest, update), ...older];
  const left = { ...newest, completionTime: newest.completionTime ?? conditionTime(update.nowMs) };
  return pruneHistory([entryOf(update), left, ...older]);
}

function isSame({ version, image }: UpdateHistory, update: HistoryUpdate): boolean {
  if (version === update.version) return image === update.image || image === '';
  return image === update.image && (version === '' || update.version === '');
}

function withUpdate(entry: UpdateHistory, { version, image, completed, verified, acceptedRisks, nowMs }: HistoryUpdate): UpdateHistory {
  const { acceptedRisks: recorded, ...rest } = entry;
  const risks = acceptedRisks === undefined ? recorded : acceptedRisks;
  return {
    ...rest,
    version: entry.version || version,
    image: entry.image || image,
    verified: entry.verified || verified,
    ...(risks ? { acceptedRisks: risks } : {}),
    ...(completed && { state: 'Completed', completionTime: entry.completionTime ?? conditionTime(nowMs) }),
  };
}

const entryOf = ({ version, image, completed, verified, acceptedRisks, nowMs }: HistoryUpdate): UpdateHistory => ({
  state: completed ? 'Completed' : 'Partial',
  startedTime: conditionTime(nowMs),
  completionTime: completed ? conditionTime(nowMs) : null,
  version,
  image,
  verified,
  ...(acceptedRisks ? { acceptedRisks } : {}),
});

/** Drops the entries that tell the least while there are more than `most`; at any time one entry is added, so one goes. */
export function pruneHistory(history: readonly UpdateHistory[], most = MOST_ENTRIES): readonly UpdateHistory[] {
  let kept = history;
  while (kept.length > most) kept = withoutLeast(kept);
  return kept;
}

function withoutLeast(history: readonly UpdateHistory[]): UpdateHistory[] {
  const ranks = history.map((_, index) => weightOf(history, index) - 1.01 * index);
  const least = ranks.indexOf(Math.min(...ranks));
  return history.toSpliced(least, 1);
}

const isCompleted = ({ state }: UpdateHistory): boolean => state === 'Completed';
const partOf = ({ version }: UpdateHistory, index: 1 | 2): string => version.split('.')[index] ?? '';

/** Worth of an entry for the question where the cluster came from. */
function weightOf(history: readonly UpdateHistory[], index: number): number {
  const entry = history[index];
  if (entry === undefined) return 0;
  const isFirst = index === history.length - 1;
  if (isFirst || index < 5 || index === history.findIndex(isCompleted)) return 1_000;
  const newer = history.slice(0, index).findLast(isCompleted);
  const older = history.slice(index + 1).find(isCompleted);
  if (isCompleted(entry)) return isEdgeOfMinor(entry, newer) || isEdgeOfMinor(entry, older) ? 30 : 0;
  if (newer === undefined || older === undefined) return 0;
  if (partOf(newer, 1) !== partOf(older, 1)) return 20;
  return partOf(newer, 2) === partOf(older, 2) ? 0 : -20;
}

const isEdgeOfMinor = (entry: UpdateHistory, neighbour: UpdateHistory | undefined): boolean =>
  neighbour === undefined || partOf(entry, 1) !== partOf(neighbour, 1);
