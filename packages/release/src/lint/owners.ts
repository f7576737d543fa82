import { quoted } from '../errors.ts';
import { objectAt, objectsAt, textAt } from '../json-values.ts';
import { groupOf, type Manifest } from '../payload/manifest.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

const near = ['ownerReferences'];

/** Owners that the garbage collector cannot find, and circles of them, in which nothing is ever collected. */
export function* checkOwners(source: LintSource): Generator<Finding> {
  const byKey = new Map(source.manifests.map((manifest) => [keyOf(manifest), manifest]));
  for (const manifest of source.manifests)
    for (const owner of ownersOf(manifest))
      if (owner.apiVersion === '' || owner.kind === '' || owner.name === '')
        yield findingAt(source, manifest, { rule: 'owner', message: 'an owner has no apiVersion, kind or name', near });
  const told = new Set<Manifest>();
  for (const manifest of source.manifests) {
    const circle = circleFrom(manifest, byKey);
    if (!circle || circle.some((one) => told.has(one))) continue;
    for (const one of circle) told.add(one);
    const names = circle.map(({ kind, name, file }) => `${kind} ${name} (${file})`);
    yield findingAt(source, manifest, {
      rule: 'owner',
      message: `owns itself through ${names.join(', ')}: remove one of the owners`,
      near,
    });
  }
}

/** The way from a manifest through its owners back to it. */
function circleFrom(start: Manifest, byKey: ReadonlyMap<string, Manifest>): Manifest[] | undefined {
  const came = new Map<Manifest, Manifest | undefined>([[start, undefined]]);
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const owner of ownersOf(at).flatMap((one) => byKey.get(keyOfOwner(one, start)) ?? [])) {
      if (owner === start) return wayTo(at, came);
      if (came.has(owner)) continue;
      came.set(owner, at);
      open.push(owner);
    }
  return undefined;
}

function wayTo(end: Manifest, came: ReadonlyMap<Manifest, Manifest | undefined>): Manifest[] {
  const way: Manifest[] = [];
  for (let at: Manifest | undefined = end; at !== undefined; at = came.get(at)) way.unshift(at);
  return way;
}

const keyOf = ({ group, kind, namespace, name }: Manifest): string => [group, kind, namespace, name].map(quoted).join();

/** An owner is in the namespace of what it owns, or in none. */
function keyOfOwner({ apiVersion, kind, name }: Owner, { namespace }: Manifest): string {
  return [groupOf(apiVersion), kind, namespace, name].map(quoted).join();
}

function ownersOf({ object: { metadata } }: Manifest): Owner[] {
  const owners = objectsAt(objectAt(metadata).ownerReferences);
  return owners.map(({ apiVersion, kind, name }) => ({ apiVersion: textAt(apiVersion), kind: textAt(kind), name: textAt(name) }));
}
