import { createHash } from 'node:crypto';
import { isJsonObject, isSameJson, parseJson } from '@flotilla/api';
import type { ManifestConfig } from '@flotilla/api/ocm';
import { ServerRefusal } from '@flotilla/runtime';
import { textOf } from '../semantics.ts';
import { type JsonPath, parseJsonPath, valuesAt } from './json-path.ts';

type Json = Record<string, unknown>;
type UpdateStrategy = NonNullable<ManifestConfig['updateStrategy']>;
type IgnoreFields = NonNullable<NonNullable<UpdateStrategy['serverSideApply']>['ignoreFields']>;

/** Annotation of the framework's own agent: digest of the manifest that was applied last, without the fields that are always ignored. */
const SPEC_HASH = 'open-cluster-management.io/config-spec-hash';
const PRESENT = 'OnSpokePresent';
const CHANGED = 'OnSpokeChange';

/** Says why fields cannot be ignored as a work asks; undefined when they can. */
export function refusalOfIgnored(strategy: UpdateStrategy | null | undefined): string | undefined {
  const rules = strategy?.serverSideApply?.ignoreFields ?? [];
  if (rules.length > 0 && (strategy?.type || 'Update') === 'Update')
    return 'serverSideApply.ignoreFields are for updateStrategy.type ServerSideApply: set it, because Update replaces these fields too';
  const unknown = rules.find(({ condition }) => condition && condition !== PRESENT && condition !== CHANGED);
  if (unknown) return `ignoreFields[].condition ${JSON.stringify(unknown.condition)} is unknown: use ${PRESENT} or ${CHANGED}`;
  try {
    for (const { jsonPaths } of rules) for (const path of jsonPaths ?? []) parseFieldPath(path);
    return undefined;
  } catch (error) {
    return `ignoreFields[].jsonPaths: ${textOf(error)}`;
  }
}

function parseFieldPath(text: string): JsonPath {
  const path = parseJsonPath(text);
  const last = path.at(-1);
  if (last && 'key' in last) return path;
  throw new ServerRefusal(`path ${JSON.stringify(text)} names entries of a list: end it with the name of a field`);
}

/**
 * A manifest without the fields that its work leaves to others while the object is there, or until the manifest changes. A field that this field
 * manager alone has set stays as it is, because the server removes what nobody applies any more.
 */
export function leaveIgnored(manifest: Json, live: Json | undefined, rules: IgnoreFields, fieldManager: string): Json {
  const pathsOf = (isMeant: (condition: string) => boolean): JsonPath[] =>
    rules
      .filter(({ condition }) => isMeant(condition || PRESENT))
      .flatMap(({ jsonPaths }) => jsonPaths ?? [])
      .map(parseFieldPath);
  const hash = hashOf(
    leaveAll(
      pathsOf((condition) => condition === PRESENT),
      manifest,
      {},
      {},
    ),
  );
  const isUnchanged = objectAt(objectAt(live?.metadata).annotations)[SPEC_HASH] === hash;
  const paths = live ? pathsOf((condition) => condition === PRESENT || isUnchanged) : [];
  const left = objectAt(leaveAll(paths, manifest, live, ownFields(live, fieldManager)));
  const metadata = objectAt(left.metadata);
  return { ...left, metadata: { ...metadata, annotations: { ...objectAt(metadata.annotations), [SPEC_HASH]: hash } } };
}

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
const objectAt = (value: unknown): Json => (isJsonObject(value) ? value : {});
const listAt = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Fields that a manager has applied, in the server's words: `f:` a key, `k:` an entry of a list by its keys, `v:` one by its value. */
function ownFields(live: Json | undefined, fieldManager: string): Json {
  const entries = listAt(objectAt(live?.metadata).managedFields).map(objectAt);
  const own = entries.find(({ manager, operation, subresource }) => manager === fieldManager && operation === 'Apply' && !subresource);
  return objectAt(own?.fieldsV1);
}

const leaveAll = (paths: readonly JsonPath[], manifest: unknown, live: unknown, own: Json): unknown =>
  paths.reduce((object, path) => leaveAt(path, object, live, own), manifest);

/** A value without what a path finds in it, but for what is the manager's own in the live one. */
function leaveAt([step, ...rest]: JsonPath, wanted: unknown, live: unknown, own: Json): unknown {
  if (!step) return ownPart(live, own);
  if (Array.isArray(wanted)) {
    const found = new Set(valuesAt([step], wanted));
    return wanted.map((entry: unknown) => (found.has(entry) ? leaveEntry(rest, entry, live, own) : entry));
  }
  if (!isJsonObject(wanted)) return wanted;
  const isMeant = (key: string) => ('key' in step ? step.key === key : 'every' in step);
  const kept = Object.entries(wanted).flatMap(([key, value]): [string, unknown][] => {
    const below = own[`f:${key}`];
    if (!isMeant(key)) return [[key, value]];
    if (rest.length === 0 && (!isJsonObject(below) || objectAt(live)[key] === undefined)) return [];
    return [[key, leaveAt(rest, value, objectAt(live)[key], objectAt(below))]];
  });
  return Object.fromEntries(kept);
}

/** Entries of lists are the same when their keys are, of which the server may have filled in some. */
function leaveEntry(rest: JsonPath, entry: unknown, live: unknown, own: Json): unknown {
  const key = Object.keys(own).find((one) => {
    const keys = keysOf(one);
    return keys && Object.entries(keys).every(([field, value]) => !(field in objectAt(entry)) || isSameJson(objectAt(entry)[field], value));
  });
  const same = key === undefined ? undefined : listAt(live).find((one) => hasKeys(one, keysOf(key)));
  return leaveAt(rest, entry, same, objectAt(own[key ?? '']));
}

const keysOf = (key: string): Json | undefined => (key.startsWith('k:') ? objectAt(parseJson(key.slice(2))) : undefined);
const hasKeys = (entry: unknown, keys: Json | undefined): boolean =>
  keys !== undefined && Object.entries(keys).every(([field, value]) => isSameJson(objectAt(entry)[field], value));

/** The part of a live value that is a manager's own; all of it where the server keeps it as one. */
function ownPart(live: unknown, own: Json): unknown {
  const names = Object.keys(own).filter((name) => name !== '.');
  if (names.length === 0) return live;
  if (isJsonObject(live))
    return Object.fromEntries(
      Object.entries(live).flatMap(([key, value]) => (`f:${key}` in own ? [[key, ownPart(value, objectAt(own[`f:${key}`]))]] : [])),
    );
  return listAt(live).flatMap((entry) => {
    const name = names.find((one) => (one.startsWith('v:') ? isSameJson(parseJson(one.slice(2)), entry) : hasKeys(entry, keysOf(one))));
    return name === undefined ? [] : [ownPart(entry, objectAt(own[name]))];
  });
}
