import { type Condition, errorMessage, isSameJson } from '@flotilla/api';
import type { ManifestStatus, ManifestWork } from '@flotilla/api/ocm';
import { WORK_FINALIZER } from '@flotilla/api/ocm';
import type { WorkAccess } from '../access.ts';
import { isAway, textOf } from '../semantics.ts';
import { Holdings, RecordRefusal, type WorkSpoke } from './holdings.ts';
import { identityOf, isOrphaned, type ResourceMeta, readManifests, targetOf, type WorkManifest } from './manifests.ts';
import { release } from './marks.ts';
import { applyDelay, type WorkMemory, type WorkMoment, type WorkPass } from './pass.ts';
import { refusedWork, WORK_DELETING, withApplied, withWorkCondition } from './status.ts';

/** Entries of the last status whose objects left the spec. */
export function removedEntries(work: ManifestWork, manifests: readonly WorkManifest[]): ManifestStatus[] {
  const kept = new Set(manifests.map(({ meta }) => identityOf(meta)));
  return (work.status?.resourceStatus?.manifests ?? []).filter(({ resourceMeta }) => !kept.has(identityOf(resourceMeta)));
}

/** Objects that left a work and are still there. */
interface Remainder {
  /** Entries that the status shows after the manifests. */
  readonly shown: ManifestStatus[];
  readonly isAny: boolean;
}

/**
 * Releases the objects that left the work. One that cannot be removed is shown at once. One that is on its way is waited for, and shown when that
 * lasts, or when no record keeps it.
 */
export async function dropRemoved(
  work: ManifestWork,
  manifests: readonly WorkManifest[],
  { holdings, objects }: { readonly holdings: Holdings; readonly objects: WorkAccess },
  { nowMs, failures }: { readonly nowMs: number; readonly failures: number },
): Promise<Remainder> {
  const entries = removedEntries(work, manifests);
  const shown: ManifestStatus[] = [];
  let isAny = false;
  const named = [...manifests.map(({ meta }) => meta), ...entries.map(({ resourceMeta }) => resourceMeta)];
  const recorded = holdings.besides(named).map((resourceMeta): ManifestStatus => ({ resourceMeta, conditions: [] }));
  for (const entry of [...entries, ...recorded]) {
    const { isDeleting, problem } = await letGo(work, entry.resourceMeta, holdings, objects);
    if (problem === undefined && !isDeleting) continue;
    isAny = true;
    if (problem === undefined && holdings.isKept && failures < REPORT_FROM) continue;
    const resourceMeta = { ...entry.resourceMeta, ordinal: manifests.length + shown.length };
    const why = problem === undefined ? 'is being deleted, and waits for its finalizers' : `could not be removed: ${problem}`;
    shown.push(withApplied({ ...entry, resourceMeta }, refusedWork(`it is no longer part of the work and ${why}`), nowMs));
  }
  return { shown, isAny };
}

async function letGo(
  work: ManifestWork,
  meta: ResourceMeta,
  holdings: Holdings,
  objects: WorkAccess,
): Promise<{ isDeleting: boolean; problem?: string }> {
  try {
    const target = await targetOf(meta, objects);
    const end = target && (await release(target, holdings.holder(meta), isOrphaned(work, meta), objects));
    if (end !== 'deleting') holdings.forget(meta);
    return { isDeleting: end === 'deleting' };
  } catch (error) {
    if (isAway(error)) throw error;
    return { isDeleting: false, problem: textOf(error) };
  }
}

/** Passes in a row with objects under deletion before the hub gets a status: a namespace takes seconds to go, and each status is a write. */
const REPORT_FROM = 4;

/** Ends a work under deletion: its finalizer goes once its objects are gone or orphaned (spec/ocm 4.1). The stock agent reports nothing meanwhile. */
export async function endWork(work: ManifestWork, memory: WorkMemory | undefined, spoke: WorkSpoke, moment: WorkMoment): Promise<WorkPass> {
  const finalizers = work.metadata.finalizers ?? [];
  if (!finalizers.includes(WORK_FINALIZER)) return {};
  const { uid, generation } = work.metadata;
  const known = memory?.isEnding && memory.uid === uid && memory.generation === generation ? memory : undefined;
  if (known && moment.nowMs < known.nextApplyAtMs) return { memory: known, requeueAfterMs: known.nextApplyAtMs - moment.nowMs };
  const { remaining, hasProblem } = await releaseAll(work, spoke);
  if (remaining.length === 0) return { finalizers: finalizers.filter((other) => other !== WORK_FINALIZER) };

  const failures = (known?.failures ?? 0) + 1;
  const requeueAfterMs = Math.min(applyDelay(failures, moment), moment.cadence.statusSyncMs);
  const nextApplyAtMs = moment.nowMs + requeueAfterMs;
  const status = { ...work.status, conditions: withDeleting(work, remaining, moment.nowMs) };
  const isLasting = hasProblem || failures >= REPORT_FROM;
  const isReported = isLasting && moment.cadence.feedback !== 'immediate' && !isSameJson(status, work.status ?? {});
  return {
    ...(isReported && { status }),
    memory: {
      uid,
      generation,
      isEnding: true,
      failures,
      quietReads: 0,
      nextApplyAtMs,
      nextReadAtMs: nextApplyAtMs,
      unreported: memory?.uid === uid ? memory?.unreported : undefined,
    },
    requeueAfterMs,
  };
}

/** Releases all objects, the last manifest first, then the record of them; returns the objects that remain. */
async function releaseAll(work: ManifestWork, { objects, records }: WorkSpoke): Promise<{ remaining: string[]; hasProblem: boolean }> {
  const remaining: string[] = [];
  let hasProblem = false;
  try {
    const holdings = await Holdings.read(work, records);
    for (const meta of (await namedBy(work, holdings, objects)).toReversed()) {
      const { isDeleting, problem } = await letGo(work, meta, holdings, objects);
      // An object to orphan delays nothing.
      if (problem !== undefined && !isOrphaned(work, meta)) {
        hasProblem = true;
        remaining.push(`${identityOf(meta)}: ${problem}`);
      } else if (isDeleting) remaining.push(`${identityOf(meta)} is being deleted`);
    }
    if (remaining.length === 0) await holdings.end();
    return { remaining, hasProblem };
  } catch (error) {
    if (!isAway(error) && !(error instanceof RecordRefusal)) throw error;
    return { remaining: [`the spoke does not let them go: ${errorMessage(error)}`], hasProblem: true };
  }
}

/** Lists the objects of the current spec, of the last status and of the record. */
async function namedBy(work: ManifestWork, holdings: Holdings, objects: WorkAccess): Promise<ResourceMeta[]> {
  const written = (work.status?.resourceStatus?.manifests ?? []).map(({ resourceMeta }) => resourceMeta);
  const named = (await readManifests(work, objects)).map(({ meta }) => meta);
  const metas = [...new Map([...written, ...named].map((meta) => [identityOf(meta), meta])).values()];
  return [...holdings.besides(metas), ...metas];
}

function withDeleting(work: ManifestWork, remaining: readonly string[], nowMs: number): Condition[] {
  const message = `Waiting for ${remaining.length} resources: ${remaining.join('; ')}`;
  const { generation: observedGeneration } = work.metadata;
  const next = { type: WORK_DELETING, status: 'True', reason: 'ResourcesRemaining', message, observedGeneration } as const;
  return withWorkCondition(work.status?.conditions, next, nowMs);
}
