import { isSameJson } from '@flotilla/api';
import type { ManifestStatus, ManifestWork } from '@flotilla/api/ocm';
import { WORK_APPLIED, WORK_AVAILABLE, WORK_FINALIZER } from '@flotilla/api/ocm';
import type { WorkAccess } from '../access.ts';
import { isAway } from '../semantics.ts';
import { type Applied, applyManifest } from './apply.ts';
import { dropEntries, endWork, removedEntries } from './end.ts';
import { newReading } from './feedback.ts';
import { readManifests, refusalOfWork, type WorkManifest, watchedResources } from './manifests.ts';
import { markKey } from './marks.ts';
import { applyDelay, heldReadDelay, readDelay, untilNext, type WorkMemory, type WorkMoment, type WorkPass } from './pass.ts';
import { awayStatus, manifestStatus, observeManifest, previousOf, refusedWork, unreportable, workStatus } from './status.ts';

/**
 * Passes over a work once: applies it when it is new, changed, failed or due for repair, else reads its objects when due (spec/ocm 4.1 to 4.3). It
 * returns the hub's writes without sending them. Refusals of the spoke become conditions, never errors.
 */
export async function passWork(
  work: ManifestWork,
  memory: WorkMemory | undefined,
  access: WorkAccess,
  moment: WorkMoment,
): Promise<WorkPass> {
  const latest = withUnreported(work, memory);
  if (work.metadata.deletionTimestamp) return endWork(latest, memory, access, moment);
  const finalizers = work.metadata.finalizers ?? [];
  // The finalizer comes before any object, so that a work deleted right after cannot orphan one. This write causes the next pass.
  if (!finalizers.includes(WORK_FINALIZER)) return { finalizers: [...finalizers, WORK_FINALIZER] };
  const { uid, generation } = work.metadata;
  const known = memory && isOf(memory, work) ? memory : undefined;
  const { nowMs, cadence } = moment;
  const isApplyDue = !known || nowMs >= known.nextApplyAtMs;
  if (known && !isApplyDue && nowMs < known.nextReadAtMs && !moment.isTold)
    return { memory: known, requeueAfterMs: untilNext(known, nowMs) };

  // The stock agent applies and reads in separate controllers: two writes, and reads independent of applies.
  const isReadApart = isApplyDue && cadence.feedback === 'immediate';
  const scope: Scope = { isApplyDue, isRead: !isReadApart, valuesRefused: isApplyDue ? undefined : known?.valuesRefused };
  const manifests = await passOrAway(latest, access, scope, moment);
  const { status } = manifests;
  const hasChanged = !isSameJson(status, latest.status ?? {});
  const failures = isApplyDue && !manifests.hasFailed ? 0 : (known?.failures ?? 0) + (isApplyDue ? 1 : 0);
  const quietReads = hasChanged ? 0 : (known?.quietReads ?? -1) + 1;
  const untilMs = manifests.isSettled ? nowMs : reportBy(known, moment);
  const isHeld = untilMs > nowMs;
  const readAfterMs = untilRead(work, { quietReads, untilMs }, moment);
  const next: WorkMemory = {
    uid,
    generation,
    isEnding: false,
    failures,
    quietReads,
    nextApplyAtMs: isApplyDue ? nowMs + applyDelay(failures, moment) : known.nextApplyAtMs,
    nextReadAtMs: nowMs + (isReadApart ? 0 : readAfterMs),
    ...(isHeld && { unreported: { status, untilMs } }),
    valuesRefused: scope.valuesRefused,
  };
  const isNews = !isHeld && !isSameJson(status, work.status ?? {});
  return { ...(isNews && { status }), memory: next, requeueAfterMs: untilNext(next, nowMs) };
}

/** Shows a work with the status that is not written yet: what it names was applied, and is removed when the work is edited or deleted. */
const withUnreported = (work: ManifestWork, memory: WorkMemory | undefined): ManifestWork =>
  memory?.unreported && memory.uid === work.metadata.uid ? { ...work, status: memory.unreported.status } : work;

/** True for the memory of this generation of the work. */
const isOf = ({ isEnding, ...memory }: WorkMemory, { metadata: { uid, generation } }: ManifestWork): boolean =>
  !isEnding && memory.uid === uid && memory.generation === generation;

/** Time by which the status of a work is written, milliseconds since the epoch: only the first one waits. */
const reportBy = (known: WorkMemory | undefined, { nowMs, cadence }: WorkMoment): number =>
  known ? (known.unreported?.untilMs ?? nowMs) : nowMs + (cadence.firstReportMs ?? 0);

const untilRead = (
  work: ManifestWork,
  { quietReads, untilMs }: { readonly quietReads: number; readonly untilMs: number },
  moment: WorkMoment,
): number => (untilMs > moment.nowMs ? heldReadDelay(quietReads, untilMs - moment.nowMs) : readDelay(quietReads, moment, isWatched(work)));

/** Extent of one pass. */
interface Scope {
  readonly isApplyDue: boolean;
  readonly isRead: boolean;
  /** The hub refused the values, in these words; they are tried again with the next apply. */
  readonly valuesRefused: string | undefined;
}

/** Passes over all manifests; a spoke without a verdict ends the pass at once, because each further call would wait for its time-out. */
async function passOrAway(work: ManifestWork, access: WorkAccess, scope: Scope, moment: WorkMoment) {
  try {
    const { statuses, ...rest } = await passManifests(work, access, scope, moment);
    return { ...rest, status: workStatus(work, statuses, moment.nowMs, scope) };
  } catch (error) {
    if (!isAway(error)) throw error;
    const types = [...(scope.isApplyDue ? [WORK_APPLIED] : []), ...(scope.isRead ? [WORK_AVAILABLE] : [])];
    return { status: awayStatus(work, error, types, moment.nowMs), hasFailed: true, isSettled: true };
  }
}

async function passManifests(
  work: ManifestWork,
  access: WorkAccess,
  { isApplyDue, isRead, valuesRefused }: Scope,
  { nowMs, cadence }: WorkMoment,
) {
  const manifests = await readManifests(work, access);
  const reading = newReading(cadence.feedback);
  const refusal = isApplyDue ? refusalOfWork(work) : undefined;
  const statuses: ManifestStatus[] = [];
  let hasFailed = false;
  let isUntouched = false;
  for (const manifest of manifests) {
    const applied = isApplyDue ? await applyUnless(refusal, manifest, markKey(work.metadata.name), access) : undefined;
    hasFailed ||= applied?.error !== undefined;
    const observed = isRead ? await observeManifest(manifest, access, reading) : undefined;
    const observation = observed && valuesRefused !== undefined ? unreportable(observed, valuesRefused) : observed;
    isUntouched ||= observation?.isUntouched === true;
    statuses.push(manifestStatus(manifest.meta, previousOf(work, manifest.meta), { applied, observation }, nowMs));
  }
  const removed = removedEntries(work, manifests);
  const left = isApplyDue ? await dropEntries(work, removed, manifests.length, access, nowMs) : removed;
  return { statuses: [...statuses, ...left], hasFailed: hasFailed || left.length > 0, isSettled: hasFailed || !isUntouched };
}

const applyUnless = (refusal: string | undefined, manifest: WorkManifest, key: string, access: WorkAccess): Promise<Applied> | Applied =>
  refusal === undefined ? applyManifest(manifest, key, access) : refusedWork(refusal);

const isWatched = (work: ManifestWork): boolean => watchedResources(work).length > 0;
