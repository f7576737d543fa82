import { isEmpty, isSame, type Json, objectAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { keepGiven } from './contracts.ts';
import { covers } from './covers.ts';
import { FieldOwners } from './field-owners.ts';
import { leaveWhole, withoutLeftovers } from './leftovers.ts';
import { mergeMetadata } from './merge.ts';

/** Top-level fields that a manifest does not replace. */
const NOT_REPLACED = new Set(['apiVersion', 'kind', 'metadata', 'status']);

const replacedOf = (object: Json): readonly (readonly [string, unknown])[] =>
  Object.entries(object).filter(([key]) => !NOT_REPLACED.has(key));

/**
 * Any kind without rules of its own (spec/cvo 3.4): its top-level fields are the manifest's, but for what a contract gives to others. Labels,
 * annotations and owners are merged. A top-level field that only an earlier release brought is removed.
 */
export const generic: Builder = {
  build: (manifest) => withEncodedData(manifest),
  merge: (object, built) => replacedBy(object, built, FieldOwners.of(object)),
  resembles: (live, next) =>
    isSame(live.metadata, next.metadata) && replacedOf(next).every(([key, value]) => isEmpty(value) || covers(live[key], value)),
};

/**
 * A live object as a work has it: top-level fields are the manifest's, but for what a contract gives to others. Labels, annotations and
 * top-level fields that the manifest no longer says go where one of these managers has written them.
 */
export const replaceFields = (live: Json, manifest: Json, isOwn: (manager: string) => boolean): Json =>
  replacedBy(live, withEncodedData(manifest), FieldOwners.ofManagers(live, isOwn));

function replacedBy(object: Json, built: Json, owners: FieldOwners): Json {
  const fields = Object.fromEntries(replacedOf(object).map(([key]) => [key, leaveWhole]));
  const live = withoutLeftovers(object, built, fields, owners);
  const { apiVersion, kind } = built;
  const next = { ...live, apiVersion, kind, metadata: mergeMetadata(live.metadata, built.metadata) };
  return keepGiven(live, { ...next, ...Object.fromEntries(replacedOf(built)) });
}

/** A Secret's plain texts as the server keeps them: it answers with none, and would always differ. */
function withEncodedData(manifest: Json): Json {
  if (manifest.kind !== 'Secret' || manifest.apiVersion !== 'v1' || manifest.stringData === undefined) return manifest;
  const { stringData, ...rest } = manifest;
  const encoded = Object.entries(objectAt(stringData)).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]);
  return { ...rest, data: { ...objectAt(manifest.data), ...Object.fromEntries(encoded) } };
}
