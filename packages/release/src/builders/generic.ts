import { type Json, objectAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { covers } from './covers.ts';
import { hasLeftovers, takenOver } from './field-ownership.ts';

/** Top-level fields that are compared by rules of their own, or not at all. */
const NOT_COMPARED = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/**
 * Any kind without rules of its own (spec/cvo 3.4): applied on the server, where fields of others and defaults stay. Labels, annotations and
 * owners count too, so that a drift of theirs is mended. Fields that only an earlier release brought are removed.
 */
export const generic: Builder = {
  build: (manifest) => withEncodedData(manifest),
  differs: (live, built) => {
    const { labels, annotations } = objectAt(built.metadata);
    const metadata = objectAt(live.metadata);
    if (!covers(metadata.labels, labels) || !covers(metadata.annotations, annotations) || !isOwned(live, built)) return true;
    return !Object.entries(built).every(([key, value]) => NOT_COMPARED.has(key) || covers(live[key], value)) || hasLeftovers(live, built);
  },
  takeOver: takenOver,
};

function isOwned(live: Json, built: Json): boolean {
  const owners = objectAt(live.metadata).ownerReferences;
  const wanted = objectAt(built.metadata).ownerReferences;
  if (!Array.isArray(wanted)) return true;
  return wanted.every((owner: unknown) => Array.isArray(owners) && owners.some((one: unknown) => covers(one, owner)));
}

/** A Secret's plain texts as the server keeps them: it answers with none, and would always differ. */
function withEncodedData(manifest: Json): Json {
  if (manifest.kind !== 'Secret' || manifest.apiVersion !== 'v1' || manifest.stringData === undefined) return manifest;
  const { stringData, ...rest } = manifest;
  const encoded = Object.entries(objectAt(stringData)).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]);
  return { ...rest, data: { ...objectAt(manifest.data), ...Object.fromEntries(encoded) } };
}
