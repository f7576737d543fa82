import { isSameJson } from '@flotilla/api';
import type { ManifestStatus, ManifestWork } from '@flotilla/api/ocm';
import { WORK_APPLIED, WORK_AVAILABLE, WORK_FINALIZER } from '@flotilla/api/ocm';
import { isAway } from '../semantics.ts';
import { applyManifest } from './apply.ts';
import { dropRemoved, endWork, removedEntries } from './end.ts';
import { newReading } from './feedback.ts';
import { Holdings, RecordRefusal, type WorkSpoke } from './holdings.ts';
import { previousOf, readManifests, refusalOfWork, type WorkManifest, watchedResources } from './manifests.ts';
import { applyDelay, heldReadDelay, readDelay, untilNext, type WorkMemory, type WorkMoment, type WorkPass } from './pass.ts';
import { awayStatus, manifestStatus, observeManifest, refusedWork, unreportable, workStatus } from './status.ts';

/**
 * Passes over a work once: applies it when it is new, changed, failed or due for repair, else reads its objects when due (spec/ocm 4.1 to 4.3). It
 * returns the hub's writes without sending them. Refusals of the spoke become conditions, never errors.
 */
export async function passWork(
  work: ManifestWork,
  memory: WorkMemory | undefined,
  spoke: WorkSpoke,
  moment: WorkMoment,
): Promise<WorkPass> {
  const latest = withUnreported(work, memory);
  if (work.metadata.deletionTimestamp) return endWork(latest, memory, spoke, moment);
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
  const valuesRefused = isApplyDue ? undefined : known?.valuesRefused;
  const scope: Scope = { isApplyDue, isRead: !isReadApart, failures: known?.failures ?? 0, valuesRefused };
  const manifests = await passOrAway(latest, spoke, scope, moment);
  const { status } = manifests;
  const hasChanged = !isSameJson(status, latest.status ?? {});
  const failures = isApplyDue ? failuresAfter(scope, manifests.hasFailed) : scope.failures;
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
    valuesRefused,
  };
  const isNews = !isHeld && !isSameJson(status, work.status ?? {});
  return { ...(isNews && { status }), memory: next, requeueAfterMs: untilNext(next, nowMs) };
}

const failuresAfter = ({ failures }: Scope, hasFailed: boolean): number => (hasFailed ? failures + 1 : 0);

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
  /** Consecutive applies with a failed manifest. */
  readonly failures: number;
  /** The hub refused the values, in these words; they are tried again with the next apply. */
  readonly valuesRefused: string | undefined;
}

/** Passes over all manifests; a spoke without a verdict ends the pass at once, because each further call would wait for its time-out. */
async function passOrAway(work: ManifestWork, spoke: WorkSpoke, scope: Scope, moment: WorkMoment) {
  try {
    const { statuses, ...rest } = await passManifests(work, spoke, scope, moment);
    return { ...rest, status: workStatus(work, statuses, moment.nowMs, scope) };
  } catch (error) {
    if (!isAway(error)) throw error;
    const types = [...(scope.isApplyDue ? [WORK_APPLIED] : []), ...(scope.isRead ? [WORK_AVAILABLE] : [])];
    return { status: awayStatus(work, error, types, moment.nowMs), hasFailed: true, isSettled: true };
  }
}

async function passManifests(work: ManifestWork, spoke: WorkSpoke, scope: Scope, { nowMs, cadence }: WorkMoment) {
  const { isApplyDue, isRead, failures, valuesRefused } = scope;
  const { objects } = spoke;
  const manifests = await readManifests(work, objects);
  const reading = newReading(cadence.feedback);
  const { holdings, refusal } = isApplyDue ? await hold(work, manifests, spoke) : {};
  const statuses: ManifestStatus[] = [];
  let hasFailed = false;
  let isUntouched = false;
  for (const manifest of manifests) {
    const applied = isApplyDue ? await applyUnless(refusal, manifest, holdings, spoke) : undefined;
    hasFailed ||= applied?.error !== undefined;
    const observed = isRead ? await observeManifest(manifest, objects, reading) : undefined;
    const observation = observed && valuesRefused !== undefined ? unreportable(observed, valuesRefused) : observed;
    isUntouched ||= observation?.isUntouched === true;
    statuses.push(manifestStatus(manifest.meta, previousOf(work, manifest.meta), { applied, observation }, nowMs));
  }
  const left = holdings
    ? await dropRemoved(work, manifests, { holdings, objects }, { nowMs, failures })
    : { shown: removedEntries(work, manifests), isAny: isApplyDue };
  hasFailed ||= !(await isKept(holdings));
  return { statuses: [...statuses, ...left.shown], hasFailed: hasFailed || left.isAny, isSettled: hasFailed || !isUntouched };
}

/** Records what the work is about to hold, before its first object; without that, nothing is made. */
async function hold(work: ManifestWork, manifests: readonly WorkManifest[], { records }: WorkSpoke) {
  try {
    const holdings = await Holdings.read(work, records);
    const refusal = refusalOfWork(work);
    if (refusal === undefined) await holdings.expect(work, manifests);
    return { holdings, refusal };
  } catch (error) {
    if (!(error instanceof RecordRefusal)) throw error;
    return { holdings: undefined, refusal: error.message };
  }
}

/** Writes the record back. Where that is refused it names the objects already, so that the next pass is soon enough. */
async function isKept(holdings: Holdings | undefined): Promise<boolean> {
  try {
    await holdings?.keep();
    return true;
  } catch (error) {
    if (!(error instanceof RecordRefusal)) throw error;
    return false;
  }
}

async function applyUnless(refusal: string | undefined, manifest: WorkManifest, holdings: Holdings | undefined, spoke: WorkSpoke) {
  if (refusal !== undefined || !holdings) return refusedWork(refusal ?? '');
  const applied = await applyManifest(manifest, holdings.holder(manifest.meta), spoke);
  holdings.applied(manifest.meta, applied);
  return applied;
}

const isWatched = (work: ManifestWork): boolean => watchedResources(work).length > 0;
