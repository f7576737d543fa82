/** A fault of a class that was seen before, put into the code as a change of a line or two. */
export interface Mutant {
  /** The fault, in a sentence. */
  readonly name: string;
  /** Name of the property that must see it. */
  readonly seenBy: string | readonly string[];
  /** File from the root of the repository, and the text in it, which is there once. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Property that sees effects for an upgrade that is withdrawn, paused or before its gate. */
export const afterNo = 'no effect after a no';
/** Property that sees a batch that begins before the one before it is through. */
export const inOrder = 'batches in order';
/** Property that sees a cluster that is complete without having been seen so. */
export const completeSeen = 'complete was seen';
/** Property that sees a version that is begun before its time, after it was taken back, or on a cluster that is not fit. */
export const withoutLeave = 'no version without leave';
/** Property that sees an upgrade that is done before its version is applied and every worker has it. */
export const doneSeen = 'done was seen';
