import { createHash } from 'node:crypto';
import { isJsonObject } from '@flotilla/api';
import { VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { type FieldChange, fieldChanges } from '../diff/field-changes.ts';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';

/** Fields that a write has put back, and who may have changed them. */
export interface Drift {
  /** Paths of fields and what was done with each, at most ten; none where this operator alone wrote them. Values are not told: some are secret. */
  readonly fields: readonly string[];
  readonly more: number;
  /** Field managers that own one of these fields now; none where the field is gone. */
  readonly managers: readonly string[];
}

const MOST_FIELDS = 10;
const MOST_CHARACTERS = 200;

/** Says what a write has made of a live object. Pure. */
export function driftOf(live: Json, stored: Json): Drift {
  const changes = fieldChanges(live, stored);
  const paths = changes.map(({ path }) => path);
  const owning = objectsAt(objectAt(live.metadata).managedFields)
    .filter(({ subresource }) => textAt(subresource) === '')
    .filter(({ fieldsV1 }) => paths.some((path) => owns(objectAt(fieldsV1), segmentsOf(path))))
    .map(({ manager }) => textAt(manager).slice(0, MOST_CHARACTERS));
  // This operator's own, of an object that is in several files: nobody has changed it.
  if (owning.length > 0 && owning.every((manager) => manager === VERSION_FIELD_MANAGER)) return { fields: [], more: 0, managers: [] };
  return {
    fields: changes.slice(0, MOST_FIELDS).map((change) => `${change.path.slice(0, MOST_CHARACTERS)} ${doneBy(change)}`),
    more: Math.max(0, paths.length - MOST_FIELDS),
    managers: [...new Set(owning)].filter((manager) => manager !== VERSION_FIELD_MANAGER),
  };
}

const doneBy = ({ from, to }: FieldChange): string => (from === undefined ? 'added' : to === undefined ? 'removed' : 'changed');

/** The parts of a path: keys, and entries of lists in brackets. */
const segmentsOf = (path: string): string[] => [...path.matchAll(/"(?:[^"\\]|\\.)*"|\[[^[\]]*\]|[^.[\]"]+/g)].map(([part]) => part);

/** True when a set of fields has a path, or a field above it that the server keeps as one. */
function owns(fields: Json, [part, ...rest]: readonly string[]): boolean {
  if (part === undefined) return true;
  if (!part.startsWith('[')) {
    const below = fields[`f:${part.startsWith('"') ? String(JSON.parse(part)) : part}`];
    return below !== undefined && (Object.keys(objectAt(below)).length === 0 || owns(objectAt(below), rest));
  }
  const name = part.slice(1, -1);
  const entries = Object.entries(fields).filter(([key]) => key.startsWith('k:'));
  const named = entries.filter(([key]) => key.includes(JSON.stringify(name)));
  return (named.length > 0 ? named : entries).some(([, below]) => owns(objectAt(below), rest));
}

/** Top-level fields that no manifest decides; labels, annotations and owners of the metadata are compared apart. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);
const METADATA = ['labels', 'annotations', 'ownerReferences'] as const;

/**
 * Digest of all differences between a live object and what would be written of it; empty where there is none. Two equal digests mean the same
 * values at the same places, so that one which a server's own answer had is the server's way of writing the object down.
 */
export function deviationOf(live: Json, next: Json): string {
  const lines: string[] = [];
  compare('', comparedOf(live), comparedOf(next), lines);
  if (lines.length === 0) return '';
  const hash = createHash('sha256');
  for (const line of lines.sort()) hash.update(line).update('\n');
  return hash.digest('base64');
}

/** True when two states of one object are the same to a manifest. */
export const isSameContent = (one: Json, other: Json): boolean => deviationOf(one, other) === '';

function comparedOf(object: Json): Json {
  const metadata = objectAt(object.metadata);
  const own = Object.entries(object).filter(([key]) => !NOT_COMPARED.has(key));
  return { ...Object.fromEntries(own), metadata: Object.fromEntries(METADATA.map((key) => [key, metadata[key]])) };
}

function compare(path: string, live: unknown, next: unknown, lines: string[]): void {
  if (live === next) return;
  if (isJsonObject(live) && isJsonObject(next)) {
    for (const key in live) compare(`${path}.${key}`, live[key], next[key], lines);
    for (const key in next) if (!(key in live)) compare(`${path}.${key}`, undefined, next[key], lines);
    return;
  }
  if (Array.isArray(live) && Array.isArray(next) && live.length === next.length) {
    for (const [index, entry] of live.entries()) compare(`${path}[${index}]`, entry, next[index], lines);
    return;
  }
  lines.push(`${path} ${ordered(live)} ${ordered(next)}`);
}

/** JSON with its keys in order; the word `undefined` for what is absent. */
const ordered = (value: unknown): string =>
  JSON.stringify(value, (_, field: unknown) =>
    isJsonObject(field) ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1))) : field,
  ) ?? 'undefined';
