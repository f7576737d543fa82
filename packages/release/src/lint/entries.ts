import { isJsonObject } from '@flotilla/api';
import { quoted } from '../errors.ts';
import { objectsAt } from '../json-values.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

/** Lists whose entries servers tell apart by a field. */
const KEYS: Readonly<Record<string, string>> = {
  env: 'name',
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  webhooks: 'name',
  imagePullSecrets: 'name',
};
/** Findings in one object: a broken one would have thousands. */
const MOST_IN_OBJECT = 20;

/** Entries of a list that have the key of another: a server takes some of them, and which one counts is its own affair. */
export function* checkEntries(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests)
    for (const { path, key, value } of doubledEntries('', manifest.object).slice(0, MOST_IN_OBJECT))
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'entry',
        message: `${path} has two entries with ${key} ${quoted(value)}; remove one of them`,
        near: [value],
      });
}

interface DoubledEntry {
  readonly path: string;
  readonly key: string;
  readonly value: string;
}

function doubledEntries(path: string, value: unknown): DoubledEntry[] {
  if (Array.isArray(value)) return value.flatMap((entry: unknown, index) => doubledEntries(`${path}[${index}]`, entry));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, below]) => {
    const at = path === '' ? field : `${path}.${field}`;
    return [...doubledIn(at, field, below), ...doubledEntries(at, below)];
  });
}

function doubledIn(path: string, field: string, list: unknown): DoubledEntry[] {
  const key = KEYS[field];
  if (key === undefined || !Array.isArray(list)) return [];
  const values = objectsAt(list).flatMap((entry) => (typeof entry[key] === 'string' ? [entry[key]] : []));
  const doubled = values.filter((value, index) => values.indexOf(value) !== index);
  return [...new Set(doubled)].map((value) => ({ path, key, value }));
}
