/** Folds the waits of thousands of clusters by cause. Pure. */
import type { FoldedFailure, FoldedWait, WaitCause } from '@flotilla/api/answers';
import { type ClusterGroupUpgradeStatus, cutInMiddle } from '@flotilla/api/ran';
import { RecordState } from '../upgrade/model.ts';
import { saidOf } from '../waits/wait.ts';
import { badnessOf } from './causes.ts';
import { leftAt } from './ended.ts';
import type { Inquiry } from './why.ts';

/** One thing that clusters wait for, as the status says it. */
type StatusWait = NonNullable<ClusterGroupUpgradeStatus['waits']>[number];

/** Causes that an answer names at most, and clusters that a status names of each. */
const [MOST, MOST_NAMES] = [20, 5];

/** One wait and the clusters it holds up; only the first few are named. */
interface Fold {
  readonly cause: WaitCause;
  readonly says: string;
  clusters: number;
  readonly names: string[];
  since?: string | undefined;
}

/** Numbers in a sentence are no difference. */
const keyOf = (cause: string | undefined, says: string): string => `${cause} ${says.replaceAll(/\d+/g, '#')}`;

/** Causes of all clusters that are not done, the one that most wait for first. @param since times that the status does not tell, by cluster */
function fold(inquiry: Inquiry, since: ReadonlyMap<string, string> = new Map()): Fold[] {
  const folded = new Map<string, Fold>();
  const before = new Map((inquiry.about.status?.waits ?? []).map((wait) => [keyOf(wait.cause, wait.for), wait.since]));
  for (const cluster of inquiry.members.open) {
    const { own } = inquiry.cluster(cluster);
    const says = cutInMiddle(own.says);
    const key = keyOf(own.cause, says);
    const known = folded.get(key);
    const one = known ?? { cause: own.cause, says, clusters: 0, names: [], since: before.get(key) };
    if (!known) folded.set(key, one);
    one.clusters += 1;
    if (one.names.length < MOST_NAMES) one.names.push(cluster);
    one.since = earlier(earlier(one.since, own.since), since.get(cluster));
  }
  return worstFirst([...folded.values()]);
}

/** The same as an answer has it. */
export const foldWaits = (inquiry: Inquiry): FoldedWait[] =>
  fold(inquiry).map(({ cause, says, clusters, names: [example = ''], since }) => ({
    cause,
    says,
    clusters,
    example,
    ...(since !== undefined && { since }),
  }));

/** The same as a status has it. */
export const summarizeWaits = (inquiry: Inquiry, since: ReadonlyMap<string, string>): StatusWait[] =>
  fold(inquiry, since).map(({ cause, says, clusters, names, since: from }) => ({
    cause,
    for: says,
    clusters,
    names,
    ...(from !== undefined && { since: from }),
  }));

/** Causes of failures. Numbers and the names of clusters in a sentence are no difference. */
export function foldFailures(status: ClusterGroupUpgradeStatus | undefined): FoldedFailure[] {
  const folded = new Map<string, FoldedFailure>();
  for (const [example, message] of failuresOf(status)) {
    const says = cutInMiddle(message);
    const key = says.replaceAll(example, '').replaceAll(/\d+/g, '#');
    const before = folded.get(key);
    folded.set(key, before ? { ...before, clusters: before.clusters + 1 } : { says, clusters: 1, example });
  }
  return largestFirst([...folded.values()]).slice(0, MOST);
}

function failuresOf(status: ClusterGroupUpgradeStatus | undefined): ReadonlyMap<string, string> {
  const { clusters = [], precaching, backup } = status ?? {};
  const failures = new Map<string, string>();
  for (const [name, state] of Object.entries(precaching?.status ?? {}))
    if (state === 'PrecacheTimeout' || state === 'UnrecoverableError') failures.set(name, precaching?.messages?.[name] ?? state);
  for (const record of clusters) {
    const { name, state, message } = record;
    if (state === RecordState.complete) continue;
    const word = state === RecordState.timedOut ? 'timed out' : state;
    const at = leftAt(record);
    failures.set(
      name,
      (message === undefined ? undefined : saidOf(message)) ??
        failures.get(name) ??
        backup?.messages?.[name] ??
        (at === undefined ? word : `${word}: ${at}`),
    );
  }
  return failures;
}

const largestFirst = <T extends { readonly clusters: number; readonly says: string }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => b.clusters - a.clusters || (a.says < b.says ? -1 : 1));

/** As the chain of `why` begins with the worst cluster. Causes that fewest wait for are left out, unless they are failures or silence. */
function worstFirst(all: readonly Fold[]): Fold[] {
  const rank = ({ cause }: Fold, most: number) => Math.min(badnessOf(cause), most);
  const kept = largestFirst(all).sort((a, b) => rank(a, 2) - rank(b, 2));
  return kept.slice(0, MOST).sort((a, b) => rank(a, 3) - rank(b, 3));
}

const earlier = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? (b ?? a) : a;
