/** Gate before an upgrade: every node has the images of the release. Pure. */
import { MachineLabel } from '@flotilla/api/machine';
import type { CachedRelease } from '@flotilla/api/managed';
import { type ObservedCluster, offeredUpdate, type UpgradeTarget } from './cluster-version.ts';

/** Minutes that the clock of another node may be ahead: a proof of the future would never be too old. */
const MOST_AHEAD_MINUTES = 5;
/** Nodes that a message names. */
const NAMED = 5;

interface CacheQuestion {
  readonly cluster: Pick<ObservedCluster, 'clusterVersion' | 'nodes' | 'machines'>;
  readonly target: UpgradeTarget;
  readonly notes: Iterable<CachedRelease>;
  /** Age from which on a note proves nothing, in minutes. */
  readonly maxAge: number;
  readonly nowMs: number;
}

/** Returns what is waited for before every node is proven to have the release; undefined when nothing is. */
export function cacheObstacle({ cluster, target, notes, maxAge, nowMs }: CacheQuestion): string | undefined {
  const image = target.kind === 'image' ? target.image : offeredUpdate(cluster.clusterVersion, target.version)?.image;
  if (image === undefined) return `version ${target.version} among the available or conditional updates of the ClusterVersion`;
  const release = `the images of release ${target.version || image}`;
  const ofRelease = [...notes].filter((note) => isSameImage(note, image)).toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const [note] = ofRelease;
  if (!note) return `a proof that the nodes have ${release} (${image}): there is none`;
  const age = Math.floor((nowMs - Date.parse(note.at)) / 60_000);
  if (age < -MOST_AHEAD_MINUTES)
    return `a proof that the nodes have ${release}: the last one says a time ${-age} minutes ahead; set the clocks of the nodes`;
  if (age >= maxAge) return `a proof that the nodes have ${release}: the last one is ${age} minutes old, of ${maxAge} at most`;
  const proven = new Set(note.nodes.map(({ uid }) => uid));
  const missing = scheduledNodes(cluster).filter(({ metadata }) => !proven.has(metadata.uid ?? ''));
  if (missing.length === 0) return undefined;
  const names = missing.map(({ metadata }) => metadata.name).toSorted();
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `a proof that ${missing.length} of ${scheduledNodes(cluster).length} nodes have ${release}: ${names.slice(0, NAMED).join(', ')}${more}`;
}

/** A name by digest has the same content anywhere; another name has to be the same. */
function isSameImage({ image, digest }: CachedRelease, wanted: string): boolean {
  const at = wanted.lastIndexOf('@');
  return at < 0 ? image === wanted : digest === wanted.slice(at + 1);
}

/** Nodes that take pods. One that was added for the time of the upgrade goes after it, and comes too late to be cached. */
function scheduledNodes({ nodes, machines }: CacheQuestion['cluster']): CacheQuestion['cluster']['nodes'] {
  const extra = new Set(
    machines.flatMap(({ metadata, status }) => (metadata.labels?.[MachineLabel.upgrade] === 'true' ? (status?.nodeRef?.name ?? []) : [])),
  );
  return nodes.filter(({ metadata, spec }) => !spec?.unschedulable && !extra.has(metadata.name));
}
