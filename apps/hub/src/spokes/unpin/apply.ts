import { mapConcurrently } from '@flotilla/pace';
import type { SpokeJobCaches } from '../../caches.ts';
import { applyWrites } from '../../writes/apply.ts';
import type { ApplyPlanDeps } from '../transports/port/apply.ts';
import { type OwedPins, owedPins } from './observe.ts';
import { markPatch } from './plan.ts';

/** Clusters that are marked at the same time. */
const PARALLEL = 16;

/**
 * Marks clusters on which pins of an ended upgrade may be. The mark outlives the upgrade and this process, and waits for clusters that are away.
 * @param image of the upgrade's puller
 */
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
