import type { Story } from './core/story.ts';

/** A story that once failed, cut down. */
interface KnownStory {
  /** The fault that it showed. */
  readonly name: string;
  readonly story: Story;
}

/** Stories that failed when they were found; each has held since. */
export const knownStories: readonly KnownStory[] = [];
