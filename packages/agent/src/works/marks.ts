import { isJsonObject } from '@flotilla/api';
import type { WorkAccess } from '../access.ts';
import type { WorkTarget } from './manifests.ts';

type Json = Record<string, unknown>;

/**
 * Prefix of the annotations that tell which works hold an object, and which of them created it. They replace the stock agent's owner references,
 * which need a garbage collector; the records tell the same where an annotation was taken off.
 */
const PREFIX = 'flotilla.io/work.';
/** Longest name part of an annotation, less the prefix's share. */
const LONGEST = 63 - 'work.'.length;

/** `created`: the work created the object; `found`: the object existed. */
type Mark = 'created' | 'found';

/** Key of a work's mark: its name, shortened and made unique when it is long. */
export const markKey = (work: string): string => PREFIX + shortened(work, LONGEST);

/** Shortens a name to so many characters, and keeps it unique and valid. */
export const shortened = (name: string, longest: number): string =>
  name.length <= longest ? name : `${name.slice(0, longest - 9).replace(/(?<![.-])[.-]+$/, '')}-${hashOf(name)}`;

/** FNV-1a, 32 bits, in hexadecimal. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

function marksOf(object: Json): ReadonlyMap<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const [key, value] of Object.entries(textsOf(object, 'annotations')))
    if (key.startsWith(PREFIX)) marks.set(key, value === 'created' ? 'created' : 'found');
  return marks;
}

const textsOf = (object: Json, field: 'labels' | 'annotations'): Json => {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const texts = metadata[field];
  return isJsonObject(texts) ? texts : {};
};

/** A work that holds an object. */
export interface Holder {
  /** Key of its mark. */
  readonly key: string;
  /** Uid of the object that it made, by its record; undefined: it made none, or this is not known yet. */
  readonly uid: string | undefined;
}

/** Uid of an object that a work made; undefined for one that it found. */
export function madeUid(object: Json, { key, uid }: Holder): string | undefined {
  const own = isJsonObject(object.metadata) ? object.metadata.uid : undefined;
  return typeof own === 'string' && (own === uid || marksOf(object).get(key) === 'created') ? own : undefined;
}

/** Metadata that the server sets; a manifest copied from a live object may have some of it. */
const OF_THE_SERVER = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
  // that of the target, which has none where the kind has none
  'namespace',
]);

/**
 * Builds the object that a work applies: its manifest and its mark. Works that share an object apply with the same field manager. So the other works'
 * marks, labels and annotations are kept, or the works would remove them from each other in turns.
 */
export function markedManifest(manifest: Json, target: WorkTarget, { key, uid }: Holder, live: Json | undefined): Json {
  const marks = live ? marksOf(live) : new Map<string, Mark>();
  const isShared = live !== undefined && [...marks.keys()].some((other) => other !== key);
  // An object that the work made stays its own, also where somebody took the mark off, or replaced the object.
  const mark: Mark = uid !== undefined ? 'created' : (marks.get(key) ?? (live ? 'found' : 'created'));
  const labels = { ...(isShared ? textsOf(live, 'labels') : {}), ...textsOf(manifest, 'labels') };
  const annotations = { ...(isShared ? textsOf(live, 'annotations') : {}), ...textsOf(manifest, 'annotations'), [key]: mark };
  const own = Object.entries(isJsonObject(manifest.metadata) ? manifest.metadata : {}).filter(([field]) => !OF_THE_SERVER.has(field));
  const metadata = {
    ...Object.fromEntries(own),
    name: target.name,
    ...(target.namespace !== undefined && { namespace: target.namespace }),
    ...(Object.keys(labels).length > 0 && { labels }),
    annotations,
  };
  return { ...manifest, metadata };
}

type Release = 'gone' | 'left' | 'deleting';

/**
 * Releases a work's object. The object is deleted when this work made it, by its mark or its record, no other work holds it, and it is not to be
 * left. Of several holders the last one decides, so one of the others inherits the duty to delete it.
 */
export async function release(target: WorkTarget, holder: Holder, isLeft: boolean, access: WorkAccess): Promise<Release> {
  const { served, namespace, name } = target;
  const live = await access.find(served, namespace, name);
  if (!live) return 'gone';
  const uid = madeUid(live, holder);
  const marks = marksOf(live);
  const { key } = holder;
  if (uid === undefined && !marks.has(key)) return 'left';
  const [heir] = [...marks.keys()].filter((other) => other !== key);
  if (isLeft || uid === undefined || heir !== undefined) {
    const inherited = heir !== undefined && uid !== undefined ? { [heir]: 'created' } : {};
    await access.mergePatch(served, namespace, name, { metadata: { annotations: { [key]: null, ...inherited } } });
    return 'left';
  }
  const metadata = isJsonObject(live.metadata) ? live.metadata : {};
  if (!metadata.deletionTimestamp) await access.deleteExactly(served, namespace, name, uid);
  const after = await access.find(served, namespace, name);
  return after && isJsonObject(after.metadata) && after.metadata.uid === uid ? 'deleting' : 'gone';
}
