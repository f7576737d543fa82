import { createHash } from 'node:crypto';
import { isJsonObject } from '@flotilla/api';
import { type Json, objectAt } from '../json-values.ts';

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
