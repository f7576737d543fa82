import { isJsonObject, isSameJson } from '@flotilla/api';
import { apiVersionOf, type ServedKind } from './built-in-kinds.ts';
import { badRequest, type Cause, conflict, invalid, modified } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** The metadata of an object; empty where it has none. */
export const metadataOf = (object: Json | undefined): Json => (isJsonObject(object?.metadata) ? object.metadata : {});
/** The finalizers of an object. */
export const finalizersOf = (object: Json): readonly string[] => {
  const { finalizers } = metadataOf(object);
  return Array.isArray(finalizers) ? finalizers.map(String) : [];
};
/** The name of an object, or an empty text. */
export const nameOf = (object: Json): string => {
  const { name } = metadataOf(object);
  return typeof name === 'string' ? name : '';
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Fields that the server alone decides. */
const OWN = ['uid', 'creationTimestamp', 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'] as const;
const SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const LABEL_VALUE = '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?';
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const IS_SUBDOMAIN = new RegExp(`^${SUBDOMAIN}$`);
const IS_LABEL = new RegExp(`^${LABEL}$`);
const IS_LABEL_VALUE = new RegExp(`^${LABEL_VALUE}$`);
const IS_QUALIFIED = new RegExp(`^${QUALIFIED}$`);

/** Metadata without absent and empty parts, as a server stores it. */
export function tidy(metadata: Json): Json {
  const isBare = (value: unknown): boolean =>
    value === undefined ||
    value === null ||
    value === '' ||
    (isJsonObject(value) && Object.keys(value).length === 0) ||
    (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isBare(value)));
}

/** Metadata of a new object without what the server decides. */
export function clientMetadata(metadata: Json): Json {
  const { resourceVersion: _, managedFields, ...rest } = metadata;
  for (const key of OWN) delete rest[key];
  return { ...rest, ...(managedFields !== undefined && { managedFields }) };
}

/** Metadata of a change: what the server decides stays as it is. */
export function keptMetadata(live: Json, next: Json): Json {
  const rest = clientMetadata(next);
  for (const key of OWN) if (live[key] !== undefined) rest[key] = live[key];
  return tidy({ ...rest, name: live.name, namespace: live.namespace, resourceVersion: live.resourceVersion });
}

/** Refuses an object of another kind than its path says. */
export function checkType(kind: ServedKind, object: Json): void {
  const other = textOf(object.kind);
  const expected = apiVersionOf(kind);
  if (object.apiVersion !== undefined && object.apiVersion !== expected)
    throw badRequest(`the API version in the data (${textOf(object.apiVersion)}) does not match the expected API version (${expected})`);
  if (object.kind === undefined || object.kind === kind.kind) return;
  if (!kind.isCustom) throw badRequest(`${other} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}`);
  const cause = { field: 'kind', reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(other)}: must be ${kind.kind}` };
  throw invalid({ ...kind, kind: other }, nameOf(object), [cause]);
}

/** Refuses a namespace that is not the path's. */
export function checkNamespace(namespace: string, object: Json): void {
  const own = metadataOf(object).namespace;
  if (own !== undefined && own !== '' && own !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Refuses a change of what has another uid or another version than is stored. @param how a patch cannot change a uid, a PUT is of another object */
export function checkIdentity(kind: ServedKind, live: Json, next: Json, how: 'patch' | 'put' | 'status'): void {
  const { uid, resourceVersion } = metadataOf(next);
  const stored = metadataOf(live);
  const name = nameOf(live);
  const isOther = uid !== undefined && uid !== '' && uid !== stored.uid;
  if (isOther && how === 'put') {
    const key = `/registry/${kind.group === '' ? '' : `${kind.group}/`}${kind.plural}/${kind.namespaced ? `${String(stored.namespace)}/` : ''}${name}`;
    const precondition = `Precondition failed: UID in precondition: ${textOf(uid)}, UID in object meta: ${String(stored.uid)}`;
    throw conflict(
      kind,
      name,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${precondition}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== stored.resourceVersion) throw modified(kind, name);
  // The status of a custom resource takes nothing else, and so no uid.
  if (!isOther || (how === 'status' && kind.isCustom)) return;
  const message = `Invalid value: ${JSON.stringify(uid)}: field is immutable`;
  throw invalid(kind, name, [{ field: 'metadata.uid', reason: 'FieldValueInvalid', message }]);
}

/** Fields of metadata that the server refuses, in any kind. */
export function refusedMetadata(kind: ServedKind, object: Json, live?: Json): Cause[] {
  const metadata = metadataOf(object);
  const causes = live ? newFinalizers(live, object) : refusedName(kind, nameOf(object));
  for (const [key, value] of Object.entries(isJsonObject(metadata.labels) ? metadata.labels : {}))
    causes.push(...refusedLabel(key, String(value)));
  for (const key of Object.keys(isJsonObject(metadata.annotations) ? metadata.annotations : {}))
    causes.push(...refusedKey('metadata.annotations', key));
  return causes;
}

function newFinalizers(live: Json, object: Json): Cause[] {
  const before = finalizersOf(live);
  const added = finalizersOf(object).filter((each) => !before.includes(each));
  if (metadataOf(live).deletionTimestamp === undefined || added.length === 0) return [];
  const shown = `[]string{${added.map((each) => JSON.stringify(each)).join(', ')}}`;
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
  return [{ field: 'metadata.finalizers', reason: 'FieldValueForbidden', message }];
}

function refusedName({ strategy }: ServedKind, name: string): Cause[] {
  const field = 'metadata.name';
  if (name === '') return [{ field, reason: 'FieldValueRequired', message: 'Required value: name or generateName is required' }];
  const refused = (says: string): Cause[] => [
    { field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(name)}: ${says}` },
  ];
  if (strategy.hasPathNames) return [];
  if (strategy.hasLabelNames && name.includes('.')) return refused('must not contain dots');
  if (strategy.hasLabelNames)
    return IS_LABEL.test(name) && name.length <= 63
      ? []
      : refused(
          `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`,
        );
  if (name.length > 253) return refused('must be no more than 253 bytes');
  if (IS_SUBDOMAIN.test(name)) return [];
  return refused(
    `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
  );
}

function refusedLabel(key: string, value: string): Cause[] {
  const causes = refusedKey('metadata.labels', key);
  const refused = (says: string): Cause => ({
    field: 'metadata.labels',
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(value)}: ${says}`,
  });
  if (value.length > 63) causes.push(refused('must be no more than 63 bytes'));
  if (!IS_LABEL_VALUE.test(value))
    causes.push(
      refused(
        `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${LABEL_VALUE}')`,
      ),
    );
  return causes;
}

function refusedKey(field: string, key: string): Cause[] {
  const name = key.split('/').at(-1) ?? '';
  if (IS_QUALIFIED.test(name) && name.length <= 63) return [];
  const says = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED}')`;
  return [{ field, reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(key)}: ${says}` }];
}

/** True when something else than metadata, and status where it is a subresource, changed. */
export function isNewGeneration(kind: ServedKind, live: Json, next: Json): boolean {
  const wanted = (object: Json): Json => {
    const { metadata: _, status, ...rest } = object;
    return kind.hasStatus ? rest : { ...rest, status };
  };
  return !isSameJson(wanted(live), wanted(next));
}
