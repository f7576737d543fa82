import { readFileSync } from 'node:fs';

/** Names of contracts in docs/version-operator.md: the rows of its table of what others may write. */
export function documentedContracts(): ReadonlySet<string> {
  const text = readFileSync(new URL('../../../../docs/version-operator.md', import.meta.url), 'utf8');
  const [, table = ''] = /\| contract \|[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)/.exec(text) ?? [];
  return new Set([...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, name = '']) => name));
}

/** Each contract with the number of edits that it allowed, and below it the edits. */
export const allowedTable = (allowed: Iterable<readonly [contract: string, edit: string]>): string =>
  [...Map.groupBy(allowed, ([contract]) => contract)]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([contract, edits]) => [`${contract}: ${edits.length}`, ...edits.map(([, edit]) => `  ${edit}`).sort()])
    .join('\n');
