import { UpdateError } from '../graph/update-error.ts';

/** So many of those that are waited for are told in full. */
const MOST_IN_FULL = 5;

/** The single errors of one that stands for several. */
function leavesOf(error: UpdateError): readonly UpdateError[] {
  const { cause } = error;
  if (!(cause instanceof AggregateError)) return [error];
  return cause.errors.flatMap((one: unknown) => (one instanceof UpdateError ? leavesOf(one) : []));
}

/** When something has stayed the same since, as messages have it. */
const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Progress of one awaited object, and the trouble of a pod of it: `daemonset: 3 of 5 nodes are updated, since …`. */
export function howText({ kind, how, sinceMs, pod }: NonNullable<UpdateError['awaited']>): string {
  const since = sinceMs === undefined ? '' : `, since ${timeText(sinceMs)}`;
  return `${kind}: ${how}${since}${pod === undefined ? '' : `; ${pod}`}`;
}

/** Lists the awaited objects: operators by name alone, the first five others with their progress. */
export function awaitedText(failure: UpdateError): string {
  const leaves = leavesOf(failure);
  const how = new Map(leaves.flatMap(({ names: [name], awaited }) => (awaited && name !== undefined ? [[name, awaited] as const] : [])));
  let inFull = 0;
  return failure.names
    .map((name) => {
      const awaited = how.get(name);
      return awaited && ++inFull <= MOST_IN_FULL ? `${name} (${howText(awaited)})` : name;
    })
    .join(', ');
}

/** Messages of the named operators themselves, behind a colon; empty where they have none. */
export function wordsOf(failure: UpdateError, names: readonly string[]): string {
  const words = leavesOf(failure).flatMap(({ names: [name], said }) =>
    name !== undefined && names.includes(name) && said ? [`${name}: ${said}`] : [],
  );
  return words.length === 0 ? '' : `: ${words.join('; ')}`;
}
