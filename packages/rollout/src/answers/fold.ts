/** What thousands of clusters wait for, by cause. Pure. */
import type { FoldedFailure, FoldedWait } from '@flotilla/api/answers';
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { Inquiry } from './why.ts';

/** Causes that an answer names at most. */
const MOST = 20;

/** Causes of all clusters that are not done, the one that most wait for first. */
export function foldWaits(inquiry: Inquiry): FoldedWait[] {
  const folded = new Map<string, FoldedWait>();
  for (const example of inquiry.open) {
    const { own } = inquiry.cluster(example);
    const key = `${own.cause} ${own.says}`;
    const before = folded.get(key);
    const since = earlier(before?.since, own.since);
    folded.set(key, {
      cause: own.cause,
      says: own.says,
      clusters: (before?.clusters ?? 0) + 1,
      example: before?.example ?? example,
      ...(since !== undefined && { since }),
    });
  }
  return largestFirst([...folded.values()]);
}

/** Causes of failures. Numbers and the names of clusters in a sentence are no difference. */
export function foldFailures(status: ClusterGroupUpgradeStatus | undefined): FoldedFailure[] {
  const folded = new Map<string, FoldedFailure>();
  for (const [example, says] of failuresOf(status)) {
    const key = says.replaceAll(example, '').replaceAll(/\d+/g, '#');
    const before = folded.get(key);
    folded.set(key, before ? { ...before, clusters: before.clusters + 1 } : { says, clusters: 1, example });
  }
  return largestFirst([...folded.values()]);
}

function failuresOf(status: ClusterGroupUpgradeStatus | undefined): ReadonlyMap<string, string> {
  const { clusters = [], precaching, backup } = status ?? {};
  const failures = new Map<string, string>();
  for (const [name, state] of Object.entries(precaching?.status ?? {}))
    if (state === 'PrecacheTimeout' || state === 'UnrecoverableError') failures.set(name, precaching?.messages?.[name] ?? state);
  for (const { name, state, message, currentPolicy, currentManifestWork } of clusters) {
    if (state === 'complete') continue;
    const at = currentPolicy?.name ?? currentManifestWork?.name;
    failures.set(name, message ?? failures.get(name) ?? backup?.messages?.[name] ?? (at === undefined ? state : `${state} at ${at}`));
  }
  return failures;
}

const largestFirst = <T extends { readonly clusters: number; readonly says: string }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => b.clusters - a.clusters || (a.says < b.says ? -1 : 1)).slice(0, MOST);

const earlier = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? (b ?? a) : a;
