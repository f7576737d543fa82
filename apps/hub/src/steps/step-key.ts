import { z } from 'zod';

/** What a step is about; what it does follows from what is observed. */
const StepKind = z.enum(['precache', 'backup', 'rollout', 'placements']);
/** One of them. */
export type StepKind = z.output<typeof StepKind>;

const StepKey = z
  .strictObject({
    kind: StepKind,
    upgrade: z.string().regex(/^[\w.-]{1,128}$/),
    cluster: z.string().regex(/^[\w.-]{0,253}$/),
  })
  .refine(
    ({ kind, cluster }) => (kind === 'placements') === (cluster === ''),
    'a step of a cluster names it, one of Placements names none',
  );
/**
 * All that a queue carries: which kind of step, for which upgrade (uid), on which cluster; Placements are of the whole upgrade and name none.
 * Nothing else is taken from a queue, so that writing to it asks for a look and nothing more.
 */
export type StepKey = Readonly<z.output<typeof StepKey>>;

/** A key as text, as queues carry it: equal for equal keys. */
export const keyId = ({ kind, upgrade, cluster }: StepKey): string => `${kind}/${upgrade}/${cluster}`;

/** The key that a text stands for; undefined for every other text. */
export function parseStepKey(text: string): StepKey | undefined {
  const [kind, upgrade, cluster, ...more] = text.split('/');
  return more.length > 0 ? undefined : StepKey.safeParse({ kind, upgrade, cluster }).data;
}
