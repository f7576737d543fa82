import { isJsonObject, isSameJson } from '@flotilla/api';
import { applyConflict, type Cause } from '../refusals/refusal.ts';
import type { Json, Schema } from '../schema/schema.ts';
import { changedFields, difference, type FieldSet, fieldsOf, holds, NO_FIELDS, pathsOf, pathText, setOf, union } from './field-set.ts';
import { mergedFields, withoutFields } from './merge-fields.ts';

/** In whose name fields are written. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string | undefined;
}

interface Entry extends Manager {
  /** Absent while nothing has changed in its name. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Fields that nobody owns: the server itself decides them. */
const NOBODYS: FieldSet = {
  'f:apiVersion': {},
  'f:kind': {},
  'f:metadata': Object.fromEntries([
    ['.', {}],
    ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'generation', 'managedFields', 'resourceVersion'].map((key) => [
      `f:${key}`,
      {},
    ]),
  ]),
};

const metadataOf = (object: Json | undefined): Json => (isJsonObject(object?.metadata) ? object.metadata : {});
const isSame = (a: Manager, b: Manager): boolean =>
  a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource && a.apiVersion === b.apiVersion;

function entriesOf(object: Json | undefined): Entry[] {
  const { managedFields } = metadataOf(object);
  return (Array.isArray(managedFields) ? managedFields.filter(isJsonObject) : []).flatMap((entry) =>
    typeof entry.manager === 'string' && isJsonObject(entry.fieldsV1)
      ? [
          {
            manager: entry.manager,
            operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
            apiVersion: String(entry.apiVersion),
            time: typeof entry.time === 'string' ? entry.time : undefined,
            fields: entry.fieldsV1 as FieldSet,
            ...(typeof entry.subresource === 'string' && { subresource: entry.subresource }),
          },
        ]
      : [],
  );
}

function withEntries(object: Json, entries: readonly Entry[]): Json {
  const order = ({ operation, time, manager, subresource = '' }: Entry): string => [operation, time ?? '', manager, subresource].join('\n');
  const managedFields = entries
    .filter(({ fields }) => Object.keys(fields).length > 0)
    .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
    .map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
      manager,
      operation,
      apiVersion,
      ...(time !== undefined && { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: fields,
      ...(subresource && { subresource }),
    }));
  const { managedFields: _, ...metadata } = metadataOf(object);
  return { ...object, metadata: { ...metadata, ...(managedFields.length > 0 && { managedFields }) } };
}

/** Object without its managedFields, for comparing. */
export const withoutManagedFields = (object: Json): Json => {
  const { managedFields: _, ...metadata } = metadataOf(object);
  return { ...object, metadata };
};

/** A client that writes managedFields `[{}]` clears them; one that writes none leaves them. */
function keptEntries(live: Json | undefined, next: Json): Entry[] {
  const { managedFields } = metadataOf(next);
  if (!Array.isArray(managedFields) || managedFields.length === 0) return entriesOf(live);
  return entriesOf(next);
}

/** A kind as far as its fields have owners. */
interface OwnedKind {
  readonly schema: Schema;
  readonly isCustom: boolean;
}

/** An object after a create or an update, with the fields that it changed in the name of its writer. @param time of the write */
export function trackedUpdate({ schema, isCustom }: OwnedKind, live: Json | undefined, next: Json, writer: Manager, time: string): Json {
  const entries = keptEntries(live, next);
  const { changed, removed } = changedFields(schema, withoutManagedFields(live ?? {}), withoutManagedFields(next), isCustom);
  const own = difference(changed, NOBODYS);
  if (Object.keys(own).length === 0 && Object.keys(removed).length === 0) return withEntries(next, entries);
  const gone = union(own, removed);
  const others = entries.filter((entry) => !isSame(entry, writer)).map((entry) => ({ ...entry, fields: difference(entry.fields, gone) }));
  const before = entries.find((entry) => isSame(entry, writer));
  const fields = union(difference(before?.fields ?? NO_FIELDS, removed), own);
  return withEntries(next, [...others, { ...writer, fields, time: isSameJson(fields, before?.fields) ? (before?.time ?? time) : time }]);
}

/** A server-side apply. */
interface Applying {
  readonly kind: OwnedKind;
  readonly live: Json | undefined;
  readonly applied: Json;
  readonly writer: Manager;
  /** Takes over what others own. */
  readonly force: boolean;
  /** RFC 3339. */
  readonly time: string;
}

/** The live object with what is applied, and its managedFields. Throws a conflict where others own a field that would change. */
export function appliedObject({ kind, live, applied, writer, force, time }: Applying): Json {
  const { schema } = kind;
  const entries = ownedEntries(kind, live, writer, time);
  const before = entries.find((entry) => isSame(entry, writer));
  const others = entries.filter((entry) => entry !== before);
  const fields = difference(fieldsOf(schema, applied), NOBODYS);
  const bare = live && withoutManagedFields(live);
  const merged = mergedFields(schema, bare, applied) as Json;
  const owned = others.reduce<FieldSet>((all, entry) => union(all, entry.fields), NO_FIELDS);
  const dropped = difference(difference(before?.fields ?? NO_FIELDS, fields), owned);
  const next = withoutFields(schema, merged, dropped, union(fields, owned)) as Json;
  const { changed } = changedFields(schema, bare, next, kind.isCustom);
  const conflicts = others.flatMap((entry) =>
    [...pathsOf(changed)].filter((path) => holds(entry.fields, path)).map((path) => ({ entry, path })),
  );
  if (conflicts.length > 0 && !force) throw conflictOf(conflicts);
  const taken = conflicts.reduce<FieldSet>((all, { path }) => union(all, setOf(path)), NO_FIELDS);
  const left = others.map((entry) => ({ ...entry, fields: difference(entry.fields, taken) }));
  return withEntries(next, [...left, { ...writer, fields, time: isSameJson(bare, next) ? before?.time : time }]);
}

/** Fields of an object that nobody has written yet belong to one name. */
function ownedEntries({ schema, isCustom }: OwnedKind, live: Json | undefined, { apiVersion }: Manager, time: string): readonly Entry[] {
  const entries = entriesOf(live);
  if (live === undefined || entries.length > 0) return entries;
  const fields = difference(changedFields(schema, {}, withoutManagedFields(live), isCustom).changed, NOBODYS);
  return [{ manager: 'before-first-apply', operation: 'Update', apiVersion, time, fields }];
}

const shownManager = ({ manager, operation, apiVersion, subresource }: Entry): string =>
  `${JSON.stringify(manager)}${subresource ? ` with subresource "${subresource}"` : ''}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;

function conflictOf(conflicts: readonly { readonly entry: Entry; readonly path: readonly string[] }[]): Error {
  const shown = conflicts.map(({ entry, path }) => ({ manager: shownManager(entry), path: pathText(path) }));
  const causes = shown.map(
    ({ manager, path }): Cause => ({ reason: 'FieldManagerConflict', message: `conflict with ${manager}`, field: path }),
  );
  const [first] = shown;
  if (shown.length === 1) return applyConflict(`Apply failed with 1 conflict: conflict with ${first?.manager}: ${first?.path}`, causes);
  const lines = [...new Set(shown.map(({ manager }) => manager))]
    .toSorted()
    .flatMap((manager) => [
      `conflicts with ${manager}:`,
      ...shown.filter((each) => each.manager === manager).map(({ path }) => `- ${path}`),
    ]);
  return applyConflict(`Apply failed with ${shown.length} conflicts: ${lines.join('\n')}`, causes);
}
