/** PinnedImageSets of one upgrade: which there should be, and what nodes and pools say of them. Pure. */
import { findCondition } from '@flotilla/api';
import {
  type MachineConfigNode,
  type MachineConfigPool,
  PINNED_SETS_DEGRADED,
  type PinnedImageSet,
  POOL_ROLE,
} from '@flotilla/api/machine';

/** Most images of one set, by its CRD. */
export const MOST_IMAGES = 500;
/** Most sets of one pool: it has room for a hundred, and others have theirs. */
const MOST_SETS = 10;
/** Longest name that a set takes. */
const MOST_NAME = 447;
/** Names that a set takes: a host with a dot, at most one folder, and a digest. */
const REPOSITORY = /^(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::\d{2,5})?\/(?:[\w-]{0,61}\/)?[\w.-]*$/;
const DIGEST = /^sha256:[a-f0-9]{64}$/;
/** Words of a node that goes on after its first two minutes, and calls itself degraded meanwhile. */
const GOES_ON = 'prefetching images incomplete';

/** A set that there should be. */
export interface WantedSet {
  readonly name: string;
  /** Value of the label by which its pool selects it. */
  readonly role: string;
  readonly images: readonly string[];
}

/** Sets that there should be, and the names that none of them takes. */
interface SetsPlan {
  readonly sets: readonly WantedSet[];
  readonly left: readonly string[];
}

/** Plans the sets of an upgrade. @param uid of the upgrade */
export function planSets(names: readonly string[], pools: readonly MachineConfigPool[], uid: string): SetsPlan {
  const taken = [...new Set(names)].filter(isTaken).toSorted();
  const kept = taken.slice(0, MOST_IMAGES * MOST_SETS);
  const isKept = new Set(kept);
  const chunks = Array.from({ length: Math.ceil(kept.length / MOST_IMAGES) }, (_, index) =>
    kept.slice(index * MOST_IMAGES, (index + 1) * MOST_IMAGES),
  );
  const sets = rolesOf(pools).flatMap((role) =>
    chunks.map((images, index) => ({ name: `flotilla-${uid}-${role}${index === 0 ? '' : `-${index + 1}`}`, role, images })),
  );
  return { sets, left: names.filter((name) => !isKept.has(name)) };
}

function isTaken(name: string): boolean {
  const [repository = '', digest = '', ...more] = name.split('@');
  return more.length === 0 && name.length <= MOST_NAME && REPOSITORY.test(repository) && DIGEST.test(digest);
}

/** Roles that reach every pool with nodes: a pool of one's own often takes what workers get. */
function rolesOf(pools: readonly MachineConfigPool[]): string[] {
  const first = ['master', 'worker'];
  const rank = ({ metadata: { name } }: MachineConfigPool): number => (first.includes(name) ? first.indexOf(name) : first.length);
  const roles: string[] = [];
  for (const pool of pools.toSorted((a, b) => rank(a) - rank(b) || (a.metadata.name < b.metadata.name ? -1 : 1)))
    if ((pool.status?.machineCount ?? 0) > 0 && !roles.some((role) => takesRole(pool, role))) roles.push(pool.metadata.name);
  return roles;
}

/** True for a pool that selects sets by this role alone. */
function takesRole({ spec }: MachineConfigPool, role: string): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.machineConfigSelector ?? {};
  const labels = Object.entries(matchLabels);
  return (
    labels.length + matchExpressions.length > 0 &&
    labels.every(([key, value]) => key === POOL_ROLE && value === role) &&
    matchExpressions.every(({ key, operator, values = [] }) => key === POOL_ROLE && operator === 'In' && values.includes(role))
  );
}

/** Nodes and pools of the cluster. */
export interface PoolFacts {
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly MachineConfigNode[];
}

/** The first node or pool that is degraded by a set, with its own words. */
export function findDegraded({ pools, nodes }: PoolFacts): string | undefined {
  const find = (what: string, objects: readonly (MachineConfigNode | MachineConfigPool)[]): string[] =>
    objects.flatMap(({ metadata, status }) => {
      const condition = findCondition(status?.conditions, PINNED_SETS_DEGRADED);
      if (condition?.status !== 'True' || condition.message?.includes(GOES_ON)) return [];
      return [`${what} ${metadata.name}: ${condition.message ?? 'no reason given'}`];
    });
  return [...find('node', nodes), ...find('pool', pools)][0];
}

/** The first node that a set would have pull by itself, because this run did not fill it. */
export const findUnfilled = ({ nodes }: PoolFacts, filled: readonly string[]): string | undefined =>
  nodes.map(({ metadata }) => metadata.name).find((name) => !filled.includes(name));

/** Nodes that have pinned these sets as they are now. */
export function pinnedNodes({ pools, nodes }: PoolFacts, sets: readonly PinnedImageSet[]): string[] {
  const isPinned = ({ spec, status }: MachineConfigNode): boolean => {
    const pool = pools.find(({ metadata }) => metadata.name === spec?.pool.name);
    const own = sets.filter(({ metadata }) => pool && takesRole(pool, metadata.labels?.[POOL_ROLE] ?? ''));
    const has = ({ metadata }: PinnedImageSet): boolean =>
      status?.pinnedImageSets?.some(({ name, currentGeneration }) => name === metadata.name && currentGeneration === metadata.generation) ??
      false;
    return own.length > 0 && own.every(has);
  };
  return nodes.filter(isPinned).map(({ metadata }) => metadata.name);
}
