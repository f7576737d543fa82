import { createHash } from 'node:crypto';

/** An object of parsed JSON or YAML whose fields are still unknown. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Values looked at before a document counts as too large. */
export const MAX_VALUES = 100_000;
/** Nesting before a document counts as too deep. */
export const MAX_DEPTH = 100;

/** Result of a bounded search of a document. */
export type SearchResult = 'found' | 'absent' | 'too large' | 'too deep';

/** Looks for a text in every string and key of a document. */
export const searchText = (root: unknown, text: string): SearchResult => search(root, (each) => each.includes(text));

/** Judges the size of a document before anything goes through it: `absent` when it is neither too large nor too deep. */
export const judgeSize = (root: unknown): Exclude<SearchResult, 'found'> => {
  const result = search(root, () => false);
  return result === 'found' ? 'absent' : result;
};

/**
 * Goes through every string and key. Iterative and bounded, so that neither a deep document nor one that refers to itself
 * (a YAML anchor can) costs more than `MAX_VALUES` steps.
 */
function search(root: unknown, isWanted: (text: string) => boolean): SearchResult {
  const values: unknown[] = [root];
  const depths: number[] = [0];
  for (let seen = 0; values.length > 0; seen++) {
    const value = values.pop();
    const depth = depths.pop() ?? 0;
    if (typeof value === 'string' && isWanted(value)) return 'found';
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= MAX_DEPTH) return 'too deep';
    if (!Array.isArray(value) && Object.keys(value).some(isWanted)) return 'found';
    const inside: unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (seen + values.length + inside.length > MAX_VALUES) return 'too large';
    for (const each of inside) {
      values.push(each);
      depths.push(depth + 1);
    }
  }
  return 'absent';
}

/** Digest of a JSON value, whatever the order of its keys: 16 hexadecimal digits. */
export const digestOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)) ?? '')
    .digest('hex')
    .slice(0, 16);

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
