import { passWork, type WorkAccess, type WorkCadence, type WorkMemory, type WorkStatus } from '@flotilla/agent';
import { ManifestWork } from '@flotilla/api/ocm';
import { type Client, type Clock, isNotFound, patchStatus, type ReconcileContext, type ReconcileResult } from '@flotilla/runtime';
import type { HubLimiter } from '../../hub-limiter.ts';

/** What a reconcile of a work works with. */
interface WorkDeps {
  readonly hub: Client;
  readonly spoke: WorkAccess;
  readonly clock: Clock;
  readonly limit: HubLimiter;
  readonly cadence: WorkCadence;
  /** By the name of the work; kept between reconciles. */
  readonly memories: Map<string, WorkMemory>;
  readonly random: () => number;
  /** The last known version. */
  readonly get: (name: string) => ManifestWork | undefined;
}

/** Looks at one work and writes what changed: its finalizer, then its status (spec/ocm 4.1 to 4.3). Nothing is written when all is as it was. */
export async function reconcileWork(name: string, deps: WorkDeps, { logger, signal }: ReconcileContext): Promise<ReconcileResult> {
  const { hub, limit, memories } = deps;
  const work = deps.get(name);
  if (!work) {
    memories.delete(name);
    return {};
  }
  const moment = { nowMs: deps.clock.now(), random: deps.random(), cadence: deps.cadence };
  const pass = await passWork(work, memories.get(name), deps.spoke, moment);
  if (pass.finalizers) {
    await limit(signal);
    await writeFinalizers(hub, work, pass.finalizers);
    if (work.metadata.deletionTimestamp) logger.info({ manifestWork: name }, 'Ended a work');
  }
  if (pass.status) {
    await limit(signal);
    await patchStatus(hub, ManifestWork, work, pass.status);
    logger.info({ manifestWork: name, generation: work.metadata.generation, conditions: reasonsOf(pass.status) }, 'Work changed');
  }
  // Only now: after a failed write the same has to be done again.
  if (pass.memory) memories.set(name, pass.memory);
  else memories.delete(name);
  return { requeueAfterMs: pass.requeueAfterMs };
}

const reasonsOf = (status: WorkStatus): readonly string[] => (status.conditions ?? []).map(({ reason }) => reason);

/** Under the version that was looked at: a conflict means that the work changed meanwhile, and is thrown. */
async function writeFinalizers(hub: Client, { metadata }: ManifestWork, finalizers: readonly string[]): Promise<void> {
  const { name, namespace, resourceVersion } = metadata;
  try {
    await hub.patch(ManifestWork, { name, namespace }, { metadata: { resourceVersion, finalizers } }, { type: 'merge' });
  } catch (error) {
    // Gone while it was looked at.
    if (!isNotFound(error)) throw error;
  }
}
