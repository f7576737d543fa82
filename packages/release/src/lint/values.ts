import { quoted } from '../errors.ts';
import { splitYaml } from '../payload/documents.ts';
import { readManifestYaml } from '../yaml/manifest-yaml.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

/** Findings of one rule in one file: a file of another kind of text would have thousands. */
const MOST_IN_FILE = 20;

/** Values that reach a cluster otherwise than they are written: integers that are rounded. */
export function* checkNumbers(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests)
    for (const number of unsafeIntegers(manifest.raw).slice(0, MOST_IN_FILE))
      yield findingAt(source, manifest, {
        rule: 'number',
        message: `the integer ${number.slice(0, 40)} is beyond the 64 bits of a server's integers and is kept as ${String(Number(number))}; write a text, or a smaller one`,
        near: [number],
      });
}

/** Numbers of a JSON text outside its texts. */
function unsafeIntegers(json: string): string[] {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
  return tokens.filter((token) => /^-?\d+$/.test(token) && BigInt.asIntN(64, BigInt(token)) !== BigInt(token));
}

/** Keys that stand twice in one object: the last value counts, and nobody knows which was meant. */
export function* checkKeys({ texts }: LintSource): Generator<Finding> {
  for (const [file, text] of texts)
    for (const { key, line } of doubledKeys(text).slice(0, MOST_IN_FILE))
      yield {
        level: 'error',
        rule: 'key',
        file,
        line,
        message: `the key ${quoted(key)} stands twice in one object, and its last value counts; remove one of them`,
      };
}

interface DoubledKey {
  readonly key: string;
  readonly line: number;
}

function doubledKeys(text: string): DoubledKey[] {
  if (text.trimStart().startsWith('{')) return doubledJsonKeys(text);
  try {
    return splitYaml(text).flatMap((document) =>
      readManifestYaml(document.text).doubledKeys.map(({ key, line }) => ({ key, line: line + document.line })),
    );
  } catch {
    // what cannot be read is told where manifests are
    return [];
  }
}

function doubledJsonKeys(text: string): DoubledKey[] {
  const doubled: DoubledKey[] = [];
  const open: (Set<string> | undefined)[] = [];
  let before = '';
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    const keys = open.at(-1);
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && keys?.has(before) === true && doubled.length < MOST_IN_FILE)
      doubled.push({ key: before.slice(1, -1), line: text.slice(0, index).split('\n').length });
    else if (token === ':') keys?.add(before);
    before = token;
  }
  return doubled;
}
