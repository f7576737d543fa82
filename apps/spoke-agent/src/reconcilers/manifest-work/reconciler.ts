import { passWork, type WorkAccess, type WorkCadence, type WorkMemory, type WorkStatus, withoutValues } from '@flotilla/agent';
import { ManifestWork } from '@flotilla/api/ocm';
import {
  type Client,
  isNotFound,
  isRefusedContent,
  patchStatus,
  type ReconcileContext,
  type ReconcileResult,
  type RefusedValues,
} from '@flotilla/runtime';
import type { KindDeps } from '../deps.ts';

interface WorkDeps extends KindDeps<ManifestWork, WorkAccess> {
  readonly cadence: WorkCadence;
  /** Memories by name of the work; kept between reconciles. */
  readonly memories: Map<string, WorkMemory>;
  readonly random: () => number;
  /** Values that the hub refused before. */
  readonly refused?: RefusedValues;
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
  let valuesRefused = pass.memory?.valuesRefused;
  if (pass.status) {
    await limit(signal);
    valuesRefused = (await writeStatus(work, pass.status, deps, signal)) ?? valuesRefused;
    logger.info({ manifestWork: name, generation: work.metadata.generation, conditions: reasonsOf(pass.status) }, 'Work changed');
  }
  // Stored last: a failed write must be repeated.
  if (pass.memory) memories.set(name, { ...pass.memory, valuesRefused });
  else memories.delete(name);
  return { requeueAfterMs: pass.requeueAfterMs };
}

/** Writes a status, without each value that the hub refuses. Where it refuses the whole, all values are left out; resolves to that refusal. */
async function writeStatus(work: ManifestWork, status: WorkStatus, { hub, limit, clock, refused }: WorkDeps, signal: AbortSignal) {
  try {
    await patchStatus(hub, ManifestWork, work, status, { refused, signal });
    return undefined;
  } catch (error) {
    if (!isRefusedContent(error)) throw error;
    await limit(signal);
    await patchStatus(hub, ManifestWork, work, withoutValues(status, error.serverMessage, clock.now()), { signal });
    return error.serverMessage;
  }
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
