/** Pages of docs/reference that are written by hand: what the pages of kinds take from them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './load-app.ts';

/** A row of a table: its cells as they are written. */
type Row = readonly string[];

/** The parts of a page of docs/reference that is written by hand: the rows of each by its heading. */
export function partsOf(name: 'annotations' | 'reasons'): ReadonlyMap<string, readonly Row[]> {
  const [, ...parts] = readFileSync(join(root, `docs/reference/${name}.md`), 'utf8').split(/^## /m);
  return new Map(parts.map((part): [string, Row[]] => [part.slice(0, part.indexOf('\n')), rowsOf(part)]));
}

const rowsOf = (part: string): Row[] =>
  [...part.matchAll(/^\| (.*) ?\|$/gm)].slice(2).map(([, cells = '']) => cells.split(/(?<!\\)\|/).map((cell) => cell.trim()));

/** The table of annotations and labels that a user writes on objects of a kind; nothing where there are none. */
export function keysOf(kind: string): string {
  const rows = [...partsOf('annotations')]
    .filter(([title]) => title !== 'Written by programs')
    .flatMap(([, all]) => all.filter(([, , on]) => on?.split(', ').includes(kind)));
  if (rows.length === 0) return '';
  const lines = rows.map(([key, is, , meaning]) => `| ${key} | ${is} | ${meaning} |`);
  return ['| key | is | meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

/** Links from a kind's page to the parts of `docs/reference/reasons.md` about it. */
export const reasonLinks = (kind: string): string[] =>
  [...partsOf('reasons').keys()]
    .filter((title) => title === kind || title.startsWith(`${kind}: `))
    .map((title) => `[${title.replace(`${kind}: `, '')}](../reasons.md#${anchorOf(title)})`);

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
