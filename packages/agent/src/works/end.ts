import { type Condition, isSameJson } from '@flotilla/api';
import type { ManifestStatus, ManifestWork } from '@flotilla/api/ocm';
import { WORK_FINALIZER } from '@flotilla/api/ocm';
import type { WorkAccess } from '../access.ts';
import { isAway, textOf } from '../semantics.ts';
import { matchesResource } from './manifest-config.ts';
import { identityOf, type ResourceMeta, readManifests, targetOf, type WorkManifest } from './manifests.ts';
import { markKey, release } from './marks.ts';
import { applyDelay, type WorkMemory, type WorkMoment, type WorkPass } from './pass.ts';
import { refusedWork, WORK_DELETING, withApplied, withWorkCondition } from './status.ts';

/** True when the work's deletion policy leaves this object on the spoke. */
function isOrphaned({ spec }: ManifestWork, meta: ResourceMeta): boolean {
  const { propagationPolicy, selectivelyOrphans } = spec?.deleteOption ?? {};
  if (propagationPolicy === 'Orphan') return true;
  const rules = propagationPolicy === 'SelectivelyOrphan' ? selectivelyOrphans?.orphaningRules : undefined;
  return rules?.some((rule) => matchesResource(rule, meta)) ?? false;
}

/** Entries of the last status whose objects left the spec. */
export function removedEntries(work: ManifestWork, manifests: readonly WorkManifest[]): ManifestStatus[] {
  const kept = new Set(manifests.map(({ meta }) => identityOf(meta)));
  return (work.status?.resourceStatus?.manifests ?? []).filter(({ resourceMeta }) => !kept.has(identityOf(resourceMeta)));
}

/**
 * Releases the objects that left the work. An object that cannot be removed stays in the status, after the manifests, because nothing else records
 * it.
 */
export async function dropEntries(
  work: ManifestWork,
  entries: readonly ManifestStatus[],
  firstOrdinal: number,
  access: WorkAccess,
  nowMs: number,
): Promise<ManifestStatus[]> {
  const left: ManifestStatus[] = [];
  for (const entry of entries) {
    const { problem } = await letGo(work, entry.resourceMeta, access);
    if (problem === undefined) continue;
    const resourceMeta = { ...entry.resourceMeta, ordinal: firstOrdinal + left.length };
    const outcome = refusedWork(`it is no longer part of the work and could not be removed: ${problem}`);
    left.push(withApplied({ ...entry, resourceMeta }, outcome, nowMs));
  }
  return left;
}

async function letGo(work: ManifestWork, meta: ResourceMeta, access: WorkAccess): Promise<{ isDeleting: boolean; problem?: string }> {
  try {
    const target = await targetOf(meta, access);
    const end = target && (await release(target, markKey(work.metadata.name), isOrphaned(work, meta), access));
    return { isDeleting: end === 'deleting' };
  } catch (error) {
    if (isAway(error)) throw error;
    return { isDeleting: false, problem: textOf(error) };
  }
}

/** Passes in a row with objects under deletion before the hub gets a status: a namespace takes seconds to go, and each status is a write. */
const REPORT_FROM = 4;

/** Ends a work under deletion: its finalizer goes once its objects are gone or orphaned (spec/ocm 4.1). The stock agent reports nothing meanwhile. */
export async function endWork(
  work: ManifestWork,
  memory: WorkMemory | undefined,
  access: WorkAccess,
  moment: WorkMoment,
): Promise<WorkPass> {
  const finalizers = work.metadata.finalizers ?? [];
  if (!finalizers.includes(WORK_FINALIZER)) return {};
  const { uid, generation } = work.metadata;
  const known = memory?.isEnding && memory.uid === uid && memory.generation === generation ? memory : undefined;
  if (known && moment.nowMs < known.nextApplyAtMs) return { memory: known, requeueAfterMs: known.nextApplyAtMs - moment.nowMs };
  const { remaining, hasProblem } = await releaseAll(work, access);
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

/** Releases all objects, the last manifest first; returns those that remain. */
async function releaseAll(work: ManifestWork, access: WorkAccess): Promise<{ remaining: string[]; hasProblem: boolean }> {
  const remaining: string[] = [];
  let hasProblem = false;
  for (const meta of (await namedBy(work, access)).toReversed()) {
    const { isDeleting, problem } = await letGo(work, meta, access);
    // An object to orphan delays nothing.
    if (problem !== undefined && !isOrphaned(work, meta)) {
      hasProblem = true;
      remaining.push(`${identityOf(meta)}: ${problem}`);
    } else if (isDeleting) remaining.push(`${identityOf(meta)} is being deleted`);
  }
  return { remaining, hasProblem };
}

/** Lists the objects of the current spec and of the last status. */
async function namedBy(work: ManifestWork, access: WorkAccess): Promise<ResourceMeta[]> {
  const written = (work.status?.resourceStatus?.manifests ?? []).map(({ resourceMeta }) => resourceMeta);
  const named = (await readManifests(work, access)).map(({ meta }) => meta);
  return [...new Map([...written, ...named].map((meta) => [identityOf(meta), meta])).values()];
}

function withDeleting(work: ManifestWork, remaining: readonly string[], nowMs: number): Condition[] {
  const message = `Waiting for ${remaining.length} resources: ${remaining.join('; ')}`;
  return withWorkCondition(work.status?.conditions, { type: WORK_DELETING, status: 'True', reason: 'ResourcesRemaining', message }, nowMs);
}
