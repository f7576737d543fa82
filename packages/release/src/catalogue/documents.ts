import { errorMessage, readJson } from '@flotilla/api';
import { z } from 'zod';
import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { beginsWithBrace, decodeUtf8, jsonObjects, markLength } from '../json-objects.ts';
import { canonicalJson } from '../yaml/canonical-json.ts';
import { readManifestYaml } from '../yaml/manifest-yaml.ts';

/** Limits of a catalogue. The largest public indexes have about 100 MB in 20,000 objects. */
export const catalogueLimits = {
  fileBytes: 256 * 1024 * 1024,
  documentBytes: 16 * 1024 * 1024,
  yamlDocumentBytes: 1024 * 1024,
  /** Values of a YAML document with its aliases written out; a channel of 4,000 entries has 16,000. */
  yamlValues: 100_000,
  depth: 200,
  objects: 200_000,
  entriesPerChannel: 20_000,
} as const;

/** Name of a package, a channel or a bundle. */
export const catalogueName = z.string().min(1).max(512);

/** One file of an index image's catalogue folder. */
export interface CatalogueFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/**
 * True for a path that a catalogue is read from. opm reads every file, whatever its ending, and fails at a text about a catalogue;
 * leaving such texts out loses nothing.
 */
export const isCataloguePath = (path: string): boolean => !/\.(?:md|txt|adoc|rst)$|(?:^|\/)(?:README|LICENSE|OWNERS)$/i.test(path);

/**
 * The objects of a catalogue file in order: JSON objects one after the other, or YAML documents.
 * @throws ReleaseError `FLOTILLA_CATALOGUE_INVALID` naming the file
 */
export function* readDocuments(file: CatalogueFile): Generator<unknown> {
  try {
    if (file.content.byteLength > catalogueLimits.fileBytes)
      throw new Error(`has ${file.content.byteLength} bytes, at most ${catalogueLimits.fileBytes} are read`);
    // as opm decides it: a text that starts with a brace is JSON, whatever the name of the file
    yield* beginsWithBrace(file.content) ? jsonDocuments(file.content) : yamlDocuments(file.content);
  } catch (cause) {
    throw invalidFile(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/** A catalogue file that cannot be used. */
export function invalidFile(file: CatalogueFile, why: string, cause?: unknown): ReleaseError {
  return new ReleaseError(ReleaseErrorCode.catalogueInvalid, `catalogue file ${quoted(file.path)} ${why}; check the index image`, {
    cause,
  });
}

function* jsonDocuments(content: Uint8Array): Generator<unknown> {
  for (const { at, text } of jsonObjects(content, { depth: catalogueLimits.depth, bytes: catalogueLimits.documentBytes })) {
    const value = readJson(text);
    if (value === undefined) throw new Error(`is not JSON in the object at byte ${at}`);
    yield value;
  }
}

function* yamlDocuments(content: Uint8Array): Generator<unknown> {
  for (const part of yamlParts(content)) {
    if (part.length > catalogueLimits.yamlDocumentBytes)
      throw new Error(`has a YAML document of more than ${catalogueLimits.yamlDocumentBytes} bytes (JSON may be larger)`);
    const text = decodeUtf8(part);
    const document = text.trim() === '' ? null : parseYaml(text);
    if (document !== null) yield document;
  }
}

const MARKER = '---';

/** A line that starts with `---` always begins a document, so a large stream is decoded one document at a time. */
function* yamlParts({ buffer, byteOffset, byteLength }: Uint8Array): Generator<Uint8Array> {
  const content = Buffer.from(buffer, byteOffset, byteLength);
  const start = markLength(content);
  let from = start;
  for (let at = content.indexOf(MARKER, from); at >= 0; at = content.indexOf(MARKER, at + 1)) {
    const isLine = at === start || endsLine(content[at - 1]);
    if (!isLine || !isBlank(content[at + MARKER.length])) continue;
    yield content.subarray(from, at);
    from = at + MARKER.length;
  }
  yield content.subarray(from);
}

const endsLine = (code: number | undefined): boolean => code === 0x0a || code === 0x0d;
/** The end of the text is as good as a blank. */
const isBlank = (code: number | undefined): boolean => code === undefined || code === 0x20 || (code >= 0x09 && code <= 0x0d);

/** A key that stands twice is refused, as opm refuses it. */
function parseYaml(text: string): unknown {
  const most = catalogueLimits.yamlValues;
  try {
    const { value, doubledKeys } = readManifestYaml(text, 1, { values: most, aliasedValues: most });
    const [doubled] = doubledKeys;
    if (doubled) throw new Error(`the key ${quoted(doubled.key)} stands twice in one object`);
    return JSON.parse(canonicalJson(value));
  } catch (cause) {
    throw new Error(`is not YAML: ${errorMessage(cause).slice(0, 200)}`, { cause });
  }
}
