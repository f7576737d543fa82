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

// Names of properties that see more than one.
export const afterNo = 'no effect after a no';
export const inOrder = 'batches in order';
export const completeSeen = 'complete was seen';
export const withoutLeave = 'no version without leave';
export const doneSeen = 'done was seen';
