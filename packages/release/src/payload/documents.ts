import { errorMessage } from '@flotilla/api';
import { beginsWithBrace, decodeUtf8, jsonObjects } from '../json-objects.ts';
import { canonicalJson, type YamlValue } from '../yaml/canonical-json.ts';
import { readManifestYaml } from '../yaml/manifest-yaml.ts';

/** One document of a manifest file. */
export interface ManifestDocument {
  /** Compact JSON of a YAML document; of a JSON file its own text. */
  readonly raw: string;
  readonly line: number;
  /** Value of the document; for YAML only the fields that identify its object. */
  readonly head: unknown;
}

const MAX_DEPTH = 100;
const NEWLINE = 0x0a;

/**
 * The documents of a manifest file, empty ones left out: JSON objects one after the other, or YAML documents. A text that begins with a brace
 * is JSON; where it is none and at most one object was read, it is taken for YAML.
 * @throws Error saying what is wrong with which document
 */
export function readManifestDocuments(content: Uint8Array): ManifestDocument[] {
  const text = decodeUtf8(content);
  if (!beginsWithBrace(content)) return readYaml(text);
  const read: ManifestDocument[] = [];
  try {
    for (const { at, text: raw } of jsonObjects(content, { depth: MAX_DEPTH })) {
      const head: unknown = JSON.parse(raw);
      read.push({ raw, line: lineAt(content, at), head });
    }
    return read;
  } catch (cause) {
    const json = new Error(`is not JSON: ${errorMessage(cause)}`, { cause });
    if (read.length > 1) throw json;
    try {
      return readYaml(text);
    } catch {
      throw json;
    }
  }
}

function lineAt(content: Uint8Array, index: number): number {
  let line = 1;
  for (let at = content.indexOf(NEWLINE); at >= 0 && at < index; at = content.indexOf(NEWLINE, at + 1)) line++;
  return line;
}

function readYaml(text: string): ManifestDocument[] {
  return splitYaml(text).flatMap(({ text: document, line }) => {
    const value = readYamlValue(document, line);
    return value === null ? [] : [{ raw: canonicalJson(value), line, head: headOf(value) }];
  });
}

/** Fields that identify the object of a document. */
const HEAD = ['apiVersion', 'kind', 'metadata'];

/** Read anew from its own JSON: parts of a text would keep all of it in memory. */
function headOf(value: YamlValue): unknown {
  if (!(value instanceof Map)) return value;
  return JSON.parse(canonicalJson(new Map([...value].filter(([key]) => HEAD.includes(key)))));
}

/** A line that begins with `---` begins a document, wherever it stands. */
export function splitYaml(text: string): { readonly text: string; readonly line: number }[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const documents: { text: string; line: number }[] = [];
  let from = 0;
  for (let at = 0; at <= lines.length; at++) {
    const line = lines[at];
    if (line !== undefined && !line.startsWith('---')) continue;
    const behind = line?.slice(3).trim() ?? '';
    if (behind !== '' && !behind.startsWith('#')) throw new Error(`invalid Yaml document separator: ${behind.slice(0, 80)}`);
    if (at > from) documents.push({ text: `${lines.slice(from, at).join('\n')}\n`, line: from + 1 });
    from = at + 1;
  }
  return documents;
}

function readYamlValue(text: string, line: number): YamlValue {
  try {
    return readManifestYaml(text, line).value;
  } catch (cause) {
    throw new Error(`is not YAML in the document at line ${line}: ${errorMessage(cause).slice(0, 200)}`, { cause });
  }
}
