import { isJsonObject, readJson } from '@flotilla/api';
import { REFERENCE_OPERATOR, VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { defined, type Json, objectAt, objectsAt, textAt } from '../json-values.ts';

/**
 * Field managers whose place this operator takes: their fields of a release's object came from a release, and go with it. The last is
 * a server's name for the writers before it kept such a list.
 */
const PREDECESSORS: ReadonlySet<string> = new Set([REFERENCE_OPERATOR, 'cluster-bootstrap', 'before-first-apply']);
/** Objects that cannot be changed: defaults that the server filled in count as fields of the manager that created them. */
const FIXED_KINDS: ReadonlySet<string> = new Set(['v1/PersistentVolumeClaim', 'v1/Pod']);

const isOurs = ({ manager, operation }: Json): boolean => manager === VERSION_FIELD_MANAGER && operation === 'Apply';
const isPredecessors = ({ manager, subresource }: Json): boolean => PREDECESSORS.has(textAt(manager)) && textAt(subresource) === '';

/** The entries of `managedFields` that fit the built object's version. */
const entriesOf = (live: Json, { apiVersion }: Json): readonly Json[] =>
  objectsAt(objectAt(live.metadata).managedFields).filter((entry) => entry.apiVersion === apiVersion);

/** True when we, or a predecessor whose fields we take over, have applied a field that the built object no longer has. */
export const hasLeftovers = (live: Json, built: Json): boolean =>
  entriesOf(live, built).some((entry) => isOurs(entry) && namesMore(fieldsOf(entry), built)) || isToBeTakenOver(live, built);

function isToBeTakenOver(live: Json, built: Json): boolean {
  if (FIXED_KINDS.has(`${textAt(built.apiVersion)}/${textAt(built.kind)}`)) return false;
  return entriesOf(live, built).some((entry) => isPredecessors(entry) && namesMore(fieldsOf(entry), built));
}

/**
 * The live object's `managedFields` with what predecessors wrote of it as our own, so that applying the built object removes what that lacks.
 * Undefined where there is nothing to take over.
 */
export function takenOver(live: Json, built: Json): readonly Json[] | undefined {
  if (!isToBeTakenOver(live, built)) return undefined;
  const entries = entriesOf(live, built);
  const ours = entries.find(isOurs);
  const theirs = entries.filter(isPredecessors);
  const fields = theirs.map(fieldsOf).reduce(joined, objectAt(ours?.fieldsV1));
  const kept = objectsAt(objectAt(live.metadata).managedFields).flatMap((entry) => {
    if (entry === ours) return [];
    return theirs.includes(entry) ? statusAlone(entry) : [entry];
  });
  const own = {
    manager: VERSION_FIELD_MANAGER,
    operation: 'Apply',
    apiVersion: built.apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
  };
  return [defined({ ...own, time: ours?.time ?? theirs[0]?.time }), ...kept];
}

/** A status is nobody's who applies. */
function fieldsOf({ fieldsV1 }: Json): Json {
  const { 'f:status': _, ...fields } = objectAt(fieldsV1);
  return fields;
}

function statusAlone(entry: Json): Json[] {
  const status = objectAt(entry.fieldsV1)['f:status'];
  return status === undefined ? [] : [{ ...entry, fieldsV1: { 'f:status': status } }];
}

function joined(one: Json, other: Json): Json {
  const both = Object.entries(other).map(([key, below]) => [key, key in one ? joined(objectAt(one[key]), objectAt(below)) : below]);
  return { ...one, ...Object.fromEntries(both) };
}

/** True when a set of fields names one that a value lacks. Servers write `f:` for a key, `k:` and `v:` for an entry of a list. */
function namesMore(fields: Json, value: unknown): boolean {
  return Object.entries(fields).some(([key, below]) => {
    if (key === '.') return false;
    const found = memberOf(value, key);
    return found === undefined || namesMore(objectAt(below), found.member);
  });
}

function memberOf(value: unknown, key: string): { readonly member: unknown } | undefined {
  const name = key.slice(2);
  switch (key.slice(0, 2)) {
    case 'f:':
      return isJsonObject(value) && name in value ? { member: value[name] } : undefined;
    case 'k:': {
      const entry = objectsAt(value).find((one) => isAt(one, readJson(name)));
      return entry && { member: entry };
    }
    case 'v:':
      return Array.isArray(value) && value.includes(readJson(name)) ? { member: undefined } : undefined;
    default:
      return { member: undefined };
  }
}

/** True when an entry has these keys; an absent one counts as the default. */
const isAt = (entry: Json, keys: unknown): boolean =>
  Object.entries(objectAt(keys)).every(([key, value]) => entry[key] === undefined || entry[key] === value);
