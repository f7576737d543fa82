import { conditionTime, isJsonObject } from '@flotilla/api';
import type { ServedKind } from './built-in-kinds.ts';
import { finalizersOf, metadataOf, nameOf } from './metadata.ts';
import { conflict } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** Conditions and manner of a deletion. */
export interface Deletion {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly gracePeriodSeconds?: number | undefined;
}

/** Throws for an object that is not the one that the deletion names. */
export function checkPreconditions(kind: ServedKind, live: Json, { uid, resourceVersion }: Deletion): void {
  const stored = metadataOf(live);
  // Here alone the server names the kind where it names the plural elsewhere.
  const refused = (why: string): Error => conflict({ ...kind, plural: kind.kind }, nameOf(live), why);
  if (uid !== undefined && uid !== stored.uid)
    throw refused(
      `the UID in the precondition (${uid}) does not match the UID in record (${String(stored.uid)}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== stored.resourceVersion)
    throw refused(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${String(stored.resourceVersion)}). The object might have been modified`,
    );
}

/** The object as it waits for its finalizers or its grace period; undefined when nothing holds it. @param now milliseconds */
export function leavingObject(kind: ServedKind, live: Json, { propagation, gracePeriodSeconds }: Deletion, now: number): Json | undefined {
  const metadata = metadataOf(live);
  const byPropagation = { Foreground: 'foregroundDeletion', Orphan: 'orphan', Background: undefined };
  const finalizer = propagation && byPropagation[propagation];
  const before = finalizersOf(live).filter((each) => propagation === undefined || !['foregroundDeletion', 'orphan'].includes(each));
  const finalizers = [...before, ...(finalizer ? [finalizer] : [])];
  const graceSeconds = gracePeriodSeconds ?? kind.strategy.gracePeriodSeconds?.(live) ?? 0;
  const seconds = kind.strategy.gracePeriodSeconds ? graceSeconds : 0;
  if (finalizers.length === 0 && seconds === 0 && !isTerminating(kind, live)) return undefined;
  const isFirst = metadata.deletionTimestamp === undefined;
  const isSooner = !isFirst && seconds < Number(metadata.deletionGracePeriodSeconds ?? 0);
  const leaving = {
    ...metadata,
    ...((isFirst || isSooner) && {
      deletionTimestamp: conditionTime(now + seconds * 1000),
      ...(!isTerminating(kind, live) && { deletionGracePeriodSeconds: seconds }),
    }),
    ...(isFirst && metadata.generation !== undefined && { generation: Number(metadata.generation) + 1 }),
    ...(finalizers.length > 0 && { finalizers }),
  };
  const status = isTerminating(kind, live) ? { status: { ...(live.status as Json), phase: 'Terminating' } } : {};
  return { ...live, metadata: leaving, ...status };
}

/** A namespace waits for its content. */
export const isTerminating = (kind: ServedKind, { spec }: Json): boolean =>
  kind.group === '' && kind.kind === 'Namespace' && isJsonObject(spec) && Array.isArray(spec.finalizers) && spec.finalizers.length > 0;
