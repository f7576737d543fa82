/** The annotation that asks for proofs: how old one may be when a cluster's part begins. Pure. */
import { Annotation, type ObjectMeta } from '@flotilla/api';
import { type ClusterGroupUpgrade, explain } from '@flotilla/api/ran';
import { MINUTE_MS, readDuration } from '../values/duration.ts';

/** Shorter than this a proof would be old before the next begins; a week is longer than any window. */
const BOUNDS = { shortestMs: 5 * MINUTE_MS, longestMs: 168 * 60 * MINUTE_MS };

/** Age of a proof, or why the annotation cannot be used; empty where none is asked for. */
interface ProofWithin {
  readonly withinMs?: number | undefined;
  readonly problem?: string;
}

/** Reads the annotation of an upgrade. */
export function readProofWithin({
  metadata: { annotations = {} },
  spec,
}: Pick<ClusterGroupUpgrade, 'spec'> & { readonly metadata: Pick<ObjectMeta, 'annotations'> }): ProofWithin {
  const text = annotations[Annotation.proofWithin]?.trim();
  if (text === undefined) return {};
  const withinMs = readDuration(text, BOUNDS);
  const shown = JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  if (withinMs === undefined) return { problem: explain('InvalidProof', `Annotation ${Annotation.proofWithin} is ${shown}, no duration`) };
  if (spec?.preCaching !== true)
    return { problem: explain('InvalidProof', `Annotation ${Annotation.proofWithin} stands on an upgrade that pre-caches nothing`) };
  return { withinMs };
}
