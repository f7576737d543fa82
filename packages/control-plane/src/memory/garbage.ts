import { isJsonObject } from '@flotilla/api';
import type { ServedKind } from './built-in-kinds.ts';
import { finalizersOf, metadataOf } from './metadata.ts';
import type { Stored } from './object-log.ts';
import type { Objects, Target } from './objects.ts';
import type { Json } from './schema/schema.ts';

interface Found {
  readonly kind: ServedKind;
  readonly stored: Stored;
}

/** Passes over the store that change something; more would be a circle. */
const MOST_PASSES = 100;

/** See `MemoryServer.collectGarbage`. */
export function collectGarbage(objects: Objects): void {
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    const before = objects.log.version;
    collectOnce(objects);
    endNamespaces(objects);
    if (objects.log.version === before) return;
  }
  throw new RangeError(`garbage is left after ${MOST_PASSES} passes`);
}

const everything = (objects: Objects): Found[] => objects.kinds.flatMap((kind) => objects.list(kind).map((stored) => ({ kind, stored })));
const targetOf = ({ kind, stored: { namespace, name } }: Found): Target => ({ kind, namespace, name, manager: 'kube-controller-manager' });
const ownersOf = (object: Json): Json[] => {
  const { ownerReferences } = metadataOf(object);
  return Array.isArray(ownerReferences) ? ownerReferences.filter(isJsonObject) : [];
};

function collectOnce(objects: Objects): void {
  const all = everything(objects);
  const living = new Map(all.map((found) => [metadataOf(found.stored.object).uid, found] as const));
  const dependents = (uid: unknown): Found[] => all.filter(({ stored }) => ownersOf(stored.object).some((owner) => owner.uid === uid));
  for (const found of all) {
    const { object } = found.stored;
    if (!objects.find(found.kind, found.stored.namespace, found.stored.name)) continue;
    const owners = ownersOf(object);
    const left = owners.filter(({ uid }) => living.has(uid));
    const { uid, deletionTimestamp } = metadataOf(object);
    if (owners.length > 0 && left.length === 0) objects.remove(targetOf(found), { propagation: 'Background' });
    else if (left.length < owners.length) setMetadata(objects, found, { ownerReferences: left });
    else if (deletionTimestamp !== undefined) endPropagation(objects, found, dependents(uid));
  }
}

function endPropagation(objects: Objects, found: Found, dependents: readonly Found[]): void {
  const finalizers = finalizersOf(found.stored.object);
  const { uid } = metadataOf(found.stored.object);
  const without = (name: string): readonly string[] => finalizers.filter((each) => each !== name);
  if (finalizers.includes('orphan')) {
    for (const dependent of dependents)
      setMetadata(objects, dependent, { ownerReferences: ownersOf(dependent.stored.object).filter((owner) => owner.uid !== uid) });
    setMetadata(objects, found, { finalizers: without('orphan') });
  }
  if (!finalizers.includes('foregroundDeletion')) return;
  const isBlocking = ({ stored }: Found): boolean =>
    ownersOf(stored.object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
  for (const dependent of dependents) {
    const { deletionTimestamp } = metadataOf(dependent.stored.object);
    if (deletionTimestamp === undefined) objects.remove(targetOf(dependent), { propagation: 'Foreground' });
  }
  if (!dependents.some(isBlocking)) setMetadata(objects, found, { finalizers: without('foregroundDeletion') });
}

const setMetadata = (objects: Objects, found: Found, fields: Json): void =>
  void objects.update(targetOf(found), (live) => ({ ...live, metadata: { ...metadataOf(live), ...fields } }), 'patch');

/** Empties the namespaces that are being deleted, and takes away those that are empty. */
function endNamespaces(objects: Objects): void {
  const namespaces = objects.kind('', 'v1', 'namespaces');
  if (!namespaces) return;
  for (const { name, object } of objects.list(namespaces)) {
    if (metadataOf(object).deletionTimestamp === undefined) continue;
    const content = everything(objects).filter(({ kind, stored }) => kind.namespaced && stored.namespace === name);
    for (const found of content) {
      const { deletionTimestamp } = metadataOf(found.stored.object);
      if (deletionTimestamp === undefined) objects.remove(targetOf(found), { propagation: 'Background', gracePeriodSeconds: 0 });
    }
    if (content.length === 0) objects.erase(namespaces, '', name);
  }
}
