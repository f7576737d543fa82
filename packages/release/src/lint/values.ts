import { quoted } from '../errors.ts';
import { objectAt } from '../json-values.ts';
import { splitYaml } from '../payload/documents.ts';
import type { Manifest } from '../payload/manifest.ts';
import { readManifestYaml } from '../yaml/manifest-yaml.ts';
import { type Finding, findingAt, type LintSource } from './source.ts';

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

/** Limits in bytes: etcd's default for one request, and those of API servers for annotations and for the data of a ConfigMap or Secret. */
const MOST = { object: 1.5 * 1024 * 1024, annotations: 256 * 1024, data: 1024 * 1024 } as const;

/** Objects that an API server refuses for their size. */
export function* checkSizes(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests)
    for (const [what, bytes, most, near] of sizesOf(manifest))
      if (bytes > most)
        yield findingAt(source, manifest, {
          rule: 'size',
          message: `${what} ${what === 'the object' ? 'has' : 'have'} ${bytes} bytes, an API server takes at most ${most}; split it`,
          near: [near],
        });
}

function sizesOf({ raw, object, annotations = {}, kind, group }: Manifest): [what: string, bytes: number, most: number, near: string][] {
  const sizes: [string, number, number, string][] = [
    ['the object', Buffer.byteLength(raw), MOST.object, 'kind'],
    ['its annotations', sum(Object.entries(annotations).flat()), MOST.annotations, 'annotations'],
  ];
  if (group === '' && (kind === 'ConfigMap' || kind === 'Secret')) {
    const texts = [object.data, object.binaryData, object.stringData].flatMap((data) => Object.values(objectAt(data)));
    sizes.push(['its data', sum(texts.map(String)), MOST.data, 'ata:']);
  }
  return sizes;
}

const sum = (texts: readonly string[]): number => texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
