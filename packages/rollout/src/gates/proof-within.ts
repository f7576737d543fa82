/** The annotation that asks for proofs: how old one may be when a cluster's part begins. Pure. */
import { Annotation, type ObjectMeta } from '@flotilla/api';
import { type ClusterGroupUpgrade, explain } from '@flotilla/api/ran';
import { MINUTE_MS, readDuration } from '../values/duration.ts';
import { quote } from '../values/go-format.ts';

/** Shorter than this a proof would be old before the next begins; a week is longer than any window. */
const BOUNDS = { shortestMs: 5 * MINUTE_MS, longestMs: 168 * 60 * MINUTE_MS };

/** Age of a proof, or why the annotation cannot be used; empty where none is asked for. */
interface ProofWithin {
  readonly withinMs?: number | undefined;
  readonly problem?: ProofProblem;
}

/** Reason for a condition, and its message with the fix. */
export interface ProofProblem {
  readonly reason: 'InvalidProof' | 'ProofsDropped';
  readonly message: string;
}

const refuse = (reason: ProofProblem['reason'], problem: string): { readonly problem: ProofProblem } => ({
  problem: { reason, message: explain(reason, `Annotation ${Annotation.proofWithin} ${problem}`) },
});

/** Reads the annotation of an upgrade. @param areKept false where the API server drops `status.precaching.proofs` */
export function readProofWithin(
  { metadata: { annotations = {} }, spec }: Pick<ClusterGroupUpgrade, 'spec'> & { readonly metadata: Pick<ObjectMeta, 'annotations'> },
  areKept = true,
): ProofWithin {
  const text = annotations[Annotation.proofWithin]?.trim();
  if (text === undefined) return {};
  const withinMs = readDuration(text, BOUNDS);
  if (withinMs === undefined) return refuse('InvalidProof', `is ${quote(text, 40)}, no duration`);
  if (spec?.preCaching !== true) return refuse('InvalidProof', 'stands on an upgrade that pre-caches nothing');
  return areKept ? { withinMs } : refuse('ProofsDropped', DROPPED);
}

const DROPPED = 'needs status.precaching.proofs, which CustomResourceDefinition clustergroupupgrades.ran.openshift.io of this hub drops';
