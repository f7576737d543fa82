/** Marks on clusters that owe the removal of an ended upgrade's pins. A mark outlives the upgrade and this process, and waits for clusters that are away. */
import { OWED_PINS } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import type { PinWay } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import type { SpokeJobCaches } from '../../../../caches.ts';
import { applyWrites, type Write } from '../../../../writes/apply.ts';
import type { ApplyPlanDeps } from '../../../transports/reach.ts';

/** Uids as the puller takes them. */
const UID = /^[0-9a-f]([0-9a-f-]{0,61}[0-9a-f])?$/;
/** Value of a mark: the puller's image, of at most 512 characters, then `pinned-image-set` where there may be sets, the failures so far, and `!` while what the last one left is removed. */
const VALUE = /^(?<image>\S{0,512})(?<sets> pinned-image-set)?(?: (?<failures>\d)(?<cleaning>!?))?$/;

/** Pins that are owed to a cluster. */
export interface OwedPins {
  /** Image of the upgrade's puller. */
  readonly image: string;
  /** Way by which they were made; by sets too where it changed. */
  readonly way: PinWay;
  /** Jobs that failed to remove them. */
  readonly failures: number;
  /** Removal of what the last failed job left comes before the next one. */
  readonly isCleaning: boolean;
}

/** The value of a mark. */
export const markOf = ({ image, way, failures, isCleaning }: OwedPins): string =>
  `${image}${way === 'runtime' ? '' : ` ${way}`}${failures === 0 ? '' : ` ${failures}${isCleaning ? '!' : ''}`}`;

/** Pins of ended upgrades that may be on the cluster, by the uids of these. A malformed mark is nobody's. */
export function owedPins(cluster: ManagedCluster | undefined): ReadonlyMap<string, OwedPins> {
  const marks = Object.entries(cluster?.metadata.annotations ?? {}).filter(([key]) => key.startsWith(OWED_PINS));
  return new Map(
    marks.flatMap(([key, value]) => {
      const uid = key.slice(OWED_PINS.length);
      const { image, sets, failures = '0', cleaning } = VALUE.exec(value)?.groups ?? {};
      if (!UID.test(uid) || image === undefined) return [];
      const way = sets === undefined ? 'runtime' : 'pinned-image-set';
      return [[uid, { image, way, failures: Number(failures), isCleaning: cleaning === '!' }] as const];
    }),
  );
}

/** The change of a ManagedCluster that marks it, or takes the mark away. @param owed null for no mark */
export const markPatch = ({ metadata: { name, uid } }: ManagedCluster, upgradeUid: string, owed: OwedPins | null): Write => ({
  verb: 'patch',
  kind: ManagedCluster,
  ref: { name },
  patch: { metadata: { uid, annotations: { [`${OWED_PINS}${upgradeUid}`]: owed && markOf(owed) } } },
});

/** Clusters that are marked at the same time. */
const PARALLEL = 16;

/** Marks clusters on which pins of an ended upgrade may be. @param image of the upgrade's puller */
export async function owePins(
  clusters: readonly string[],
  { uid, image, way }: { readonly uid: string } & Pick<OwedPins, 'image' | 'way'>,
  { client, caches, signal }: Omit<ApplyPlanDeps, 'caches'> & { readonly caches: Pick<SpokeJobCaches, 'clusters'> },
): Promise<void> {
  const unmarked = clusters.flatMap((name) => {
    const managed = caches.clusters.get({ name });
    return managed && owedPins(managed).get(uid) === undefined ? [managed] : [];
  });
  const deps = { client, signal, caches: [caches.clusters], decideOwner: () => 'ours' as const };
  await mapConcurrently(unmarked, PARALLEL, (managed) =>
    applyWrites([markPatch(managed, uid, { image, way, failures: 0, isCleaning: false })], deps),
  );
}
