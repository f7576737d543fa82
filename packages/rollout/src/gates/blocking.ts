/** Upgrades that another one waits for (spec/talm 2.9 gates 5 and 8). Pure. */
import { Annotation, findCondition, refKey } from '@flotilla/api';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import type { UpgradeRef } from '../upgrade/identity.ts';
import { RecordState } from '../upgrade/model.ts';
import { isEnding } from '../upgrade/stage.ts';

/** State of all blocking upgrades; each list holds names in the order of the spec. */
export interface Blocking {
  readonly missing: readonly string[];
  readonly incomplete: readonly string[];
  /** The first of those that are missing, or else of those that are not complete. */
  readonly first?: UpgradeRef | undefined;
  /** Upgrades that wait for each other, from this one to this one: each blocks the next. */
  readonly circle?: readonly UpgradeRef[] | undefined;
  /** Those of the incomplete ones that do not get on without somebody. */
  readonly stalled: readonly string[];
  /** Clusters that completed in every one of them: nobody while one is missing or incomplete. Undefined when the annotations do not ask for it. */
  readonly eligible: ReadonlySet<string> | undefined;
}

/** The blocking upgrades of the spec; without a namespace they are looked for beside the upgrade. */
export const blockingRefs = ({ metadata, spec }: ClusterGroupUpgrade): UpgradeRef[] =>
  (spec?.blockingCRs ?? []).map(({ name = '', namespace }) => ({ name, namespace: namespace || (metadata.namespace ?? '') }));

/** Looks at the blocking upgrades of one upgrade. */
export function judgeBlocking(upgrade: ClusterGroupUpgrade, find: (ref: UpgradeRef) => ClusterGroupUpgrade | undefined): Blocking {
  const partial = upgrade.metadata.annotations?.[Annotation.blockingCompletionMode] === 'partial';
  const filters = partial && upgrade.metadata.annotations?.[Annotation.blockingClusterFiltering] === 'true';
  const missing: string[] = [];
  const incomplete: string[] = [];
  const stalled: string[] = [];
  const completed: ReadonlySet<string>[] = [];
  let absent: UpgradeRef | undefined;
  let open: UpgradeRef | undefined;
  for (const ref of blockingRefs(upgrade)) {
    const blocker = find(ref);
    const isDone = blocker !== undefined && isOver(blocker, partial);
    // A deleted upgrade does not let in the clusters that it kept out.
    completed.push(isDone ? completedClusters(blocker) : new Set());
    if (!blocker) {
      missing.push(ref.name);
      absent ??= ref;
    } else if (!isDone) {
      incomplete.push(ref.name);
      open ??= ref;
      if (isStalled(blocker)) stalled.push(ref.name);
    }
  }
  const [first, ...others] = completed;
  const eligible = filters && first ? new Set([...first].filter((cluster) => others.every((each) => each.has(cluster)))) : undefined;
  return { missing, incomplete, first: absent ?? open, circle: findCircle(upgrade, find), stalled, eligible };
}

/** The shortest way by which an upgrade waits for itself. */
function findCircle(upgrade: ClusterGroupUpgrade, find: (ref: UpgradeRef) => ClusterGroupUpgrade | undefined): UpgradeRef[] | undefined {
  const { name, namespace = '' } = upgrade.metadata;
  const ways: UpgradeRef[][] = [[{ name, namespace }]];
  const seen = new Set<string>();
  for (const way of ways) {
    const [last] = way;
    const waiting = last && (way.length === 1 ? upgrade : find(last));
    if (!last || !waiting || isEnding(waiting)) continue;
    for (const ref of blockingRefs(waiting)) {
      if (refKey(ref) === refKey({ name, namespace })) return [ref, ...way];
      if (seen.has(refKey(ref))) continue;
      seen.add(refKey(ref));
      ways.push([ref, ...way]);
    }
  }
  return undefined;
}

function isOver({ status }: ClusterGroupUpgrade, partial: boolean): boolean {
  const succeeded = findCondition(status?.conditions, ClusterGroupUpgradeCondition.succeeded);
  return partial ? succeeded !== undefined : succeeded?.status === 'True';
}

/** By its verdict, or by the condition that its hub has derived. */
const isStalled = ({ status }: ClusterGroupUpgrade): boolean =>
  findCondition(status?.conditions, ClusterGroupUpgradeCondition.succeeded)?.status === 'False' ||
  findCondition(status?.conditions, ClusterGroupUpgradeCondition.stalled)?.status === 'True';

/** Names, not counts: a cluster that is recorded twice in one upgrade does not stand for another. */
const completedClusters = ({ status }: ClusterGroupUpgrade): ReadonlySet<string> =>
  new Set((status?.clusters ?? []).filter(({ state }) => state === RecordState.complete).map(({ name }) => name));
