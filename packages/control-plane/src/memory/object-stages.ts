import { isJsonObject, isSameJson } from '@flotilla/api';
import { apiVersionOf, type ServedKind } from './built-in-kinds.ts';
import { customKind, establishedDefinition } from './custom-kinds.ts';
import { checkIdentity, checkNamespace, checkType, keptMetadata, metadataOf, nameOf, refusedMetadata, tidy } from './metadata.ts';
import { badRequest, type Cause, invalid, misfitPatch, UnsupportedError, versionNeeded } from './refusals/refusal.ts';
import { decodeError } from './schema/decoding.ts';
import { defaulted } from './schema/defaults.ts';
import { pruned, withoutEmpty } from './schema/pruning.ts';
import type { Json } from './schema/schema.ts';
import { brokenRules, refusedFields } from './schema/validation.ts';

interface Written {
  readonly kind: ServedKind;
  readonly subresource?: string | undefined;
}

interface Changed extends Written {
  readonly namespace: string;
  readonly name: string;
  readonly strict?: boolean;
}

/** Options of reading a body. */
interface Decoding {
  /** Unknown fields are refused; default false: they are left out. */
  readonly strict?: boolean | undefined;
  /** Default true. */
  readonly fillsDefaults?: boolean;
}

/** A body as an object of its kind: pruned, with defaults. Throws for one that is none. */
export function decoded(kind: ServedKind, body: unknown, { strict = false, fillsDefaults = true }: Decoding): Json {
  if (!isJsonObject(body)) throw badRequest('the request body is no object');
  checkType(kind, body);
  const misfit = kind.isCustom ? undefined : decodeError(kind, body);
  const unhandled = `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}`;
  if (misfit) throw badRequest(`${unhandled}: ${misfit}`);
  const unknown: string[] = [];
  const kept = pruned(kind.schema, body, (path) => unknown.push(path));
  if (strict && unknown.length > 0)
    throw badRequest(`${unhandled}: strict decoding error: ${unknown.map((path) => `unknown field "${path}"`).join(', ')}`);
  const whole = kind.isCustom ? (fillsDefaults ? defaulted(kind.schema, kept) : kept) : withoutEmpty(kind.schema, kept);
  return { ...(whole as Json), apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** An object with what the server adds to its kind. @param time RFC 3339 */
export function completed(kind: ServedKind, object: Json, time: string, live?: Json): Json {
  const whole = kind.strategy.complete?.(object, live) ?? object;
  if (kind.isCustom) return defaulted(kind.schema, whole) as Json;
  if (kind.kind !== 'CustomResourceDefinition') return whole;
  customKind(whole);
  if (live && isSameJson(live.spec, whole.spec)) return whole;
  return establishedDefinition(whole, time);
}

/** Refuses an object that its kind does not allow. @param live as it is stored; absent for a new one */
export function checkObject({ kind, subresource }: Written, object: Json, live?: Json): void {
  const causes = [...refusedMetadata(kind, object, live), ...(kind.isCustom ? refusedParts(kind, subresource, object, live) : [])];
  if (kind.isCustom) causes.push(...brokenRules(kind.schema, object, live, causes));
  if (causes.length > 0) throw invalid(kind, nameOf(object), causes);
  kind.strategy.check?.(kind, object, live);
}

/** Messages name the fields of a status from there. */
function refusedParts({ schema }: ServedKind, subresource: string | undefined, object: Json, live?: Json): Cause[] {
  const status = subresource === 'status' ? schema.properties?.status : undefined;
  if (!status) return refusedFields(schema, object, live);
  return object.status === undefined
    ? []
    : refusedFields(status, object.status, live?.status).map((cause) => ({ ...cause, field: `status.${cause.field}` }));
}

/** A write of the status changes the status, and of metadata what its kind says. */
function withStatus(kind: ServedKind, live: Json, next: Json): Json {
  const takes: readonly string[] = kind.strategy.statusTakes ?? [];
  const [before, after] = [metadataOf(live), metadataOf(next)];
  const metadata: Json = { ...before, ...(after.managedFields !== undefined && { managedFields: after.managedFields }) };
  for (const key of ['labels', 'annotations', 'finalizers']) {
    if (takes.includes(key)) metadata[key] = after[key];
    else if (!kind.isCustom && !kind.strategy.statusTakes && !isSameJson(before[key], after[key]))
      throw new UnsupportedError(`change ${key} by the status of ${kind.plural}`);
  }
  const { status: _, ...rest } = live;
  return { ...rest, metadata: tidy(metadata), ...(next.status !== undefined && { status: next.status }) };
}

/** The part of an apply that is its own: the status is one subresource's, the rest is the object's. */
export function ownPart({ kind, subresource }: Written, applied: Json): Json {
  const { status, ...rest } = applied;
  if (subresource === 'status') {
    const { apiVersion, metadata } = applied;
    return { apiVersion, kind: kind.kind, metadata, ...(status !== undefined && { status }) };
  }
  return kind.hasStatus ? rest : applied;
}

/** The object that a PUT or a patch makes of a stored one: parts that its caller may not change are as they were. */
export function successor({ kind, namespace, name, subresource, strict }: Changed, live: Json, body: unknown, how: 'patch' | 'put'): Json {
  const misfit = kind.isCustom || how === 'put' ? undefined : decodeError(kind, body);
  if (misfit) throw misfitPatch(body as Json, misfit);
  const next = decoded(kind, body, { strict });
  checkNamespace(namespace, next);
  if (nameOf(next) !== name) throw badRequest(`the name of the object (${nameOf(next)}) does not match the name on the URL (${name})`);
  if (how === 'put' && kind.strategy.needsVersion && !metadataOf(next).resourceVersion) throw versionNeeded(kind, name);
  checkIdentity(kind, live, next, subresource === 'status' ? 'status' : how);
  const metadata = keptMetadata(metadataOf(live), metadataOf(next));
  if (subresource === 'status') return withStatus(kind, live, { ...next, metadata });
  if (subresource !== undefined) throw new UnsupportedError(`write subresource ${subresource} of ${kind.plural}`);
  const { status: _, ...rest } = next;
  if (!kind.hasStatus) return { ...next, metadata };
  return { ...rest, metadata, ...(live.status !== undefined && { status: live.status }) };
}
