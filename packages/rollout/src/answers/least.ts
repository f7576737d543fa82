/** The name of the least rank, the first of several. */
export function least(names: Iterable<string>, rank: (name: string) => number): string | undefined {
  let found: { readonly name: string; readonly rank: number } | undefined;
  for (const name of names) {
    const each = rank(name);
    if (!found || each < found.rank) found = { name, rank: each };
  }
  return found?.name;
}
