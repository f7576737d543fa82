import { z } from 'zod';
import { ActionRequest, type WindowParts } from './console.ts';
import { WindowState } from './status.ts';

/** Names of a window's parts in the form of the page, and in what is said of the form. */
export const windowFields: Readonly<Record<keyof WindowParts, string>> = {
  start: 'Not before',
  end: 'Not after',
  schedule: 'Openings',
  duration: 'Open for',
  timezone: 'Time zone',
};

/** An annotation before and after a change; absent where it was not or is no more. */
const AnnotationChange = z.object({
  key: z.string().describe('Its name.'),
  before: z.string().optional().describe('Its value before.'),
  after: z.string().optional().describe('Its value after.'),
});

/** Outcome of a command that writes, or would write. */
export const ChangeAnswer = z.object({
  object: z.string().describe('Kind and name of the object that is changed.'),
  outcome: z
    .enum(['changed', 'created', 'unchanged', 'dry-run', 'declined', 'outdated', 'unanswered'])
    .describe(
      'unchanged: it was so before. outdated: somebody else changed it since it was looked at, and nothing was written. unanswered: it is stored, and no hub has taken it up in time.',
    ),
  isNew: z.boolean().optional().describe('The object is not there yet, or was not before.'),
  annotations: z.array(AnnotationChange).describe('Annotations that differ.'),
  clusters: z.int().describe('Clusters that it touches.'),
  says: z.array(z.string()).describe('What it means for them, a sentence each.'),
  undo: z.string().optional().describe('The command that takes it back.'),
  undoing: ActionRequest.pick({ action: true, reason: true, window: true })
    .optional()
    .describe('The same as the console asks for it; absent where its action brings back less.'),
  windows: z.object({ before: WindowState, after: WindowState }).optional().describe('The window before and after a change of it.'),
  seen: z.string().optional().describe('What the answer is about: a confirmation of it gives this back.'),
});
export type ChangeAnswer = z.output<typeof ChangeAnswer>;

const outcomes = {
  changed: 'is changed',
  created: 'is created',
  unchanged: 'is so already; nothing was changed',
  'dry-run': 'would be changed',
  declined: 'was not changed',
  outdated: 'is another one since it was looked at; nothing was changed',
  unanswered: 'is changed, but no hub has taken it up yet',
} as const satisfies Record<ChangeAnswer['outcome'], string>;

/** The outcome in words, which follow the object. */
export const outcomeWords = ({ outcome, isNew }: Pick<ChangeAnswer, 'outcome' | 'isNew'>): string =>
  isNew && outcome === 'dry-run' ? 'would be created' : outcomes[outcome];
