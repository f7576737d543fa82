import { isJsonObject, parseJson } from '@flotilla/api';
import { quoted } from '../errors.ts';
import { objectAt, textAt } from '../json-values.ts';
import { type ManifestDocument, readManifestDocuments } from './documents.ts';

/** Identity of an object of a payload; the version of its API is no part of it. */
export interface ManifestId {
  readonly group: string;
  readonly kind: string;
  /** Empty for an object without one. */
  readonly namespace: string;
  readonly name: string;
}

/** One object of a payload. */
export interface Manifest extends ManifestId {
  readonly file: string;
  readonly line: number;
  /** Version of its API, without the group. */
  readonly version: string;
  /** Its JSON text; every digit of it is the manifest's own. */
  readonly raw: string;
  /** Read anew from `raw` each time: as objects, the manifests of a release take five times the memory of their texts. */
  readonly object: Readonly<Record<string, unknown>>;
  /** Undefined when it has none, or one that is no text. */
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

/** Name of the file without its folder, which decides on the place of its manifests in an update. */
export const fileNameOf = ({ file }: Pick<Manifest, 'file'>): string => file.slice(file.lastIndexOf('/') + 1);

/** An identity as messages show it. */
export function textOfId({ group, kind, namespace, name }: ManifestId): string {
  const place = namespace === '' ? '' : ` Namespace: ${quoted(namespace)}`;
  return `Group: ${quoted(group)} Kind: ${quoted(kind)}${place} Name: ${quoted(name)}`;
}

/**
 * The manifests of a file in order.
 * @throws Error saying which document is no object of Kubernetes, or stands there twice
 */
export function parseManifests(file: string, content: Uint8Array): Manifest[] {
  const known = new Set<string>();
  return readManifestDocuments(content).map((document) => {
    const manifest = toManifest(file, document);
    const id = textOfId(manifest);
    if (known.has(id)) throw new Error(`duplicate resource: (${id})`);
    known.add(id);
    return manifest;
  });
}

/** The group of `group/version`; empty for a version alone. */
export const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0));

function toManifest(file: string, { raw, line, head }: ManifestDocument): Manifest {
  const object = objectOf(head, line);
  const metadata = objectAt(object.metadata);
  const apiVersion = textAt(object.apiVersion);
  const group = groupOf(apiVersion);
  const id = { group, kind: textAt(object.kind), namespace: textAt(metadata.namespace), name: textAt(metadata.name) };
  if (id.kind === '' || id.name === '')
    throw new Error(`Resource with fields ${textOfId(id)} must contain kubernetes required fields kind and name`);
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return {
    ...id,
    file,
    line,
    version,
    raw,
    annotations: textsOf(metadata.annotations),
    get object() {
      const object = parseJson(raw);
      return objectOf(id.kind === 'CustomResourceDefinition' && LARGE_BOUND.test(raw) ? withDoubleBounds(object) : object, line);
    },
  };
}

/** Bounds of a schema that may be no double. */
const LARGE_BOUND = /"(?:maximum|minimum|multipleOf)"\s*:\s*-?\d{16}/;
const BOUNDS: ReadonlySet<string> = new Set(['maximum', 'minimum', 'multipleOf']);

/** The server keeps the bounds of a definition's schema as doubles itself, and its defaults and enums as they are written. */
function withDoubleBounds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDoubleBounds);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, part]) => [key, BOUNDS.has(key) && typeof part === 'bigint' ? Number(part) : withDoubleBounds(part)]),
  );
}

function objectOf(object: unknown, line: number): Record<string, unknown> {
  if (!isJsonObject(object)) throw new Error(`the document at line ${line} is no object`);
  return object;
}

function textsOf(value: unknown): Record<string, string> | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  // one value of another type makes all of them unreadable
  return entries.length === Object.keys(value).length ? Object.fromEntries(entries) : undefined;
}
