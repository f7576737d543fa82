/** A list as Go prints a slice: `[a b]` (spec/talm 2.3). */
export const formatSlice = (items: readonly string[]): string => `[${items.join(' ')}]`;

/** A map of lists as Go marshals it: keys and values sorted, no spaces (spec/talm 2.3, ambiguous policies). */
export function formatSortedJson(lists: Readonly<Record<string, readonly string[]>>): string {
  const entries = Object.keys(lists)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify((lists[key] ?? []).toSorted())}`);
  return `{${entries.join(',')}}`;
}

/** A value from outside for a message: quoted, control characters escaped, at most so many characters. */
export const quote = (value: string, most = 100): string => JSON.stringify(value.length > most ? `${value.slice(0, most)}…` : value);
