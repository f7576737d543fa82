import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseAst } from 'vite';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
/** Characters of a hostile text. */
const LENGTH = 5_000;
/** Linear ones need less than one. */
const MAX_CPU_MS = 20;

interface Expression {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

/** Every regular expression that is written in the programs, wherever it stands. */
async function findExpressions(): Promise<Expression[]> {
  const found = new Map<string, Expression>();
  for (const top of ['packages', 'apps']) {
    for (const entry of await readdir(join(root, top), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || !/(?<!\.test)\.ts$/.test(entry.name) || !/\/src\//.test(path) || path.includes('/node_modules/')) continue;
      for (const { source, flags } of expressionsIn(parseAst(await readFile(path, 'utf8'), { lang: 'ts' })))
        found.set(`/${source}/${flags}`, { where: relative(root, path), source, flags });
    }
  }
  return [...found.values()];
}

function* expressionsIn(node: unknown): Generator<{ source: string; flags: string }> {
  if (Array.isArray(node)) {
    for (const each of node) yield* expressionsIn(each);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  if ('regex' in node && typeof node.regex === 'object' && node.regex !== null && 'pattern' in node.regex && 'flags' in node.regex)
    yield { source: String(node.regex.pattern), flags: String(node.regex.flags) };
  for (const value of Object.values(node)) yield* expressionsIn(value);
}

const SINGLES = 'aA1.-_:/@ \n"\'\\([{<=!*+|$%,;\0'.split('');
const PARTS = 'a1.-/'.split('');
const PAIRS = PARTS.flatMap((one) => PARTS.filter((other) => other !== one).map((other) => one + other));

/** What an expression may have to see before the part of it that is slow. */
function beginnings(source: string): string[] {
  const literal = /^\^?((?:[\w "'/:{}<>=-]|\\[/.$()[\]{}"*+?|-])*)/.exec(source)?.[1]?.replaceAll('\\', '') ?? '';
  return [...new Set(['', literal])];
}

function slowest({ source, flags }: Expression): { text: string; ms: number } {
  const expression = new RegExp(source, flags.replaceAll(/[gy]/g, ''));
  let worst = { text: '', ms: 0 };
  for (const begin of beginnings(source))
    for (const pump of [...SINGLES, ...PAIRS])
      for (const end of ['\u0001!', '']) {
        const text = `${begin}${pump.repeat(Math.ceil(LENGTH / pump.length))}${end}`;
        let ms = Number.POSITIVE_INFINITY;
        // The least of three: what counts is the expression, not what the process does besides.
        for (let again = 0; again < 3 && ms > MAX_CPU_MS; again++) {
          const started = process.threadCpuUsage();
          expression.exec(text);
          const { user, system } = process.threadCpuUsage(started);
          ms = Math.min(ms, (user + system) / 1000);
        }
        if (ms > worst.ms) worst = { text: `${JSON.stringify(begin)} + ${JSON.stringify(pump)} × ${LENGTH} + ${JSON.stringify(end)}`, ms };
        if (ms > MAX_CPU_MS) return worst;
      }
  return worst;
}

test('no expression takes more than linear time over any text', { timeout: 300_000 }, async () => {
  const expressions = await findExpressions();
  expect(expressions.length).toBeGreaterThan(80);
  // One that repeats nothing without end takes the same time for every text.
  const endless = expressions.filter(({ source }) => /[+*]|\{\d+,\}/.test(source));
  const slow = endless.flatMap((expression) => {
    const { text, ms } = slowest(expression);
    return ms > MAX_CPU_MS ? [`${expression.where}: /${expression.source}/${expression.flags} takes ${Math.round(ms)} ms for ${text}`] : [];
  });
  expect(slow).toEqual([]);
});
