import { conditionTime } from '@flotilla/api';
import { ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { isForbidden, isNotFound, isRefusedContent, patchStatus, type ReconcileContext, type ReconcileResult } from '@flotilla/runtime';
import type { AgentHub, KindDeps } from '../access.ts';
import type { WorkSpoke } from '../works/holdings.ts';
import type { WorkCadence, WorkMemory, WorkMoment, WorkPass } from '../works/pass.ts';
import { type WorkStatus, withoutValues } from '../works/status.ts';
import { passWork } from '../works/work.ts';

interface WorkDeps extends KindDeps<ManifestWork, WorkSpoke> {
  /** Hub namespace of the spoke. */
  readonly clusterName: string;
  /** Milliseconds for which the objects of a work that is missing on the hub stay. */
  readonly evictionGraceMs: number;
  readonly cadence: WorkCadence;
  /** Memories by name of the work; kept between reconciles. */
  readonly memories: Map<string, WorkMemory>;
  readonly random: () => number;
  /** A watched object of the work has changed. */
  readonly isTold?: boolean;
}

/** Reconciles one work and writes only changes: its finalizer, then its status (spec/ocm 4.1 to 4.3). */
export async function reconcileWork(name: string, deps: WorkDeps, { logger, signal }: ReconcileContext): Promise<ReconcileResult> {
  const { hub, limit, memories } = deps;
  const work = deps.get(name);
  if (!work) return evict(name, deps, logger);
  const pass = await passWork(work, memories.get(name), deps.spoke, momentOf(deps));
  if (pass.finalizers) {
    await limit(signal);
    await writeFinalizers(hub, work, pass.finalizers);
    if (work.metadata.deletionTimestamp) {
      deps.onEvent?.('work-ended', name);
      logger.info({ manifestWork: name }, 'Ended a work');
    }
  }
  let valuesRefused = pass.memory?.valuesRefused;
  if (pass.status) {
    await limit(signal);
    valuesRefused = (await writeStatus(work, pass.status, deps, signal)) ?? valuesRefused;
    deps.onEvent?.('work-reported', name);
    logger.info({ manifestWork: name, generation: work.metadata.generation, conditions: reasonsOf(pass.status) }, 'Work changed');
  }
  // Stored last: a failed write must be repeated.
  if (pass.memory) memories.set(name, { ...pass.memory, valuesRefused });
  else memories.delete(name);
  return { requeueAfterMs: pass.requeueAfterMs };
}

const momentOf = ({ clock, random, cadence, isTold }: WorkDeps): WorkMoment => ({
  nowMs: clock.now(),
  random: random(),
  cadence,
  ...(isTold && { isTold }),
});

const LOOK_AGAIN_MS = 600_000;

/** Ends what a work left that went without its finalizer, after a grace: hubs are restored, and their works come back. */
async function evict(name: string, deps: WorkDeps, logger: ReconcileContext['logger']): Promise<ReconcileResult> {
  const { memories, spoke, clock, clusterName: namespace, evictionGraceMs } = deps;
  const record = await spoke.records.read(name);
  if (!record) {
    memories.delete(name);
    return {};
  }
  // A grace counts while the hub says so: what it serves again comes back piece by piece.
  const endGrace = async () => {
    if (record.evictionStartTime !== undefined) await spoke.records.write(name, { ...record, evictionStartTime: undefined }, false);
  };
  const isAway = await isMissing(name, deps).catch(async (error: unknown) => {
    await endGrace();
    throw error;
  });
  if (!isAway) {
    await endGrace();
    return { requeueAfterMs: LOOK_AGAIN_MS };
  }
  const startedAt = Date.parse(record.evictionStartTime ?? '');
  if (Number.isNaN(startedAt)) {
    await spoke.records.write(name, { ...record, evictionStartTime: conditionTime(clock.now()) }, false);
    logger.warn({ manifestWork: name, objects: record.resources.length }, 'Waiting to remove objects of a work that is missing on the hub');
    return { requeueAfterMs: evictionGraceMs };
  }
  const leftMs = startedAt + evictionGraceMs - clock.now();
  if (leftMs > 0) return { requeueAfterMs: leftMs };
  const metadata = { name, namespace, uid: '', deletionTimestamp: record.evictionStartTime, finalizers: [WORK_FINALIZER] };
  const pass: WorkPass = await passWork(ManifestWork.schema.parse({ metadata }), memories.get(name), spoke, momentOf(deps));
  if (pass.finalizers) logger.warn({ manifestWork: name }, 'Removed objects of a work that is missing on the hub');
  if (pass.memory) memories.set(name, pass.memory);
  else memories.delete(name);
  return { requeueAfterMs: pass.requeueAfterMs };
}

/** Asks the hub itself: a hub that serves no works, or refuses to list them, does not miss one. */
async function isMissing(name: string, { hub, clusterName: namespace }: WorkDeps): Promise<boolean> {
  try {
    return (await hub.list(ManifestWork, { namespace, fieldSelector: `metadata.name=${name}` })).items.length === 0;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return false;
    throw error;
  }
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
async function writeFinalizers(hub: AgentHub, { metadata }: ManifestWork, finalizers: readonly string[]): Promise<void> {
  const { name, namespace, resourceVersion } = metadata;
  try {
    await hub.patch(ManifestWork, { name, namespace }, { metadata: { resourceVersion, finalizers } }, { type: 'merge' });
  } catch (error) {
    // The work was deleted meanwhile.
    if (!isNotFound(error)) throw error;
  }
}
