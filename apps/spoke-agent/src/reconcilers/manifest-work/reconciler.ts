import { passWork, type WorkAccess, type WorkCadence, type WorkMemory, type WorkStatus } from '@flotilla/agent';
import { ManifestWork } from '@flotilla/api/ocm';
import { type Client, isNotFound, patchStatus, type ReconcileContext, type ReconcileResult } from '@flotilla/runtime';
import type { KindDeps } from '../deps.ts';

interface WorkDeps extends KindDeps<ManifestWork, WorkAccess> {
  readonly cadence: WorkCadence;
  /** Memories by name of the work; kept between reconciles. */
  readonly memories: Map<string, WorkMemory>;
  readonly random: () => number;
}

/** Reconciles one work and writes only changes: its finalizer, then its status (spec/ocm 4.1 to 4.3). */
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
  // Stored last: a failed write must be repeated.
  if (pass.memory) memories.set(name, pass.memory);
  else memories.delete(name);
  return { requeueAfterMs: pass.requeueAfterMs };
}

const reasonsOf = (status: WorkStatus): readonly string[] => (status.conditions ?? []).map(({ reason }) => reason);

/** Writes the finalizers of the observed version; throws the conflict when the work has changed. */
async function writeFinalizers(hub: Client, { metadata }: ManifestWork, finalizers: readonly string[]): Promise<void> {
  const { name, namespace, resourceVersion } = metadata;
  try {
    await hub.patch(ManifestWork, { name, namespace }, { metadata: { resourceVersion, finalizers } }, { type: 'merge' });
  } catch (error) {
    // The work was deleted meanwhile.
    if (!isNotFound(error)) throw error;
  }
}
