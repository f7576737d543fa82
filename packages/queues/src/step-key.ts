import { z } from 'zod';

/** What a step is about; what it does follows from what is observed. */
export const StepKind = z.enum(['precache', 'backup', 'rollout', 'placements']);
export type StepKind = z.output<typeof StepKind>;

/**
 * All that a queue carries: which kind of step, for which upgrade (uid), on which cluster; Placements are of the whole upgrade and name none.
 * Nothing else is taken from a queue, so that writing to it asks for a look and nothing more.
 */
export const StepKey = z
  .strictObject({
    kind: StepKind,
    upgrade: z.string().regex(/^[\w.-]{1,128}$/),
    cluster: z.string().regex(/^[\w.-]{0,253}$/),
  })
  .refine(
    ({ kind, cluster }) => (kind === 'placements') === (cluster === ''),
    'a step of a cluster names it, one of Placements names none',
  );
export type StepKey = Readonly<z.output<typeof StepKey>>;

/** A key as text: equal for equal keys. */
export const keyId = ({ kind, upgrade, cluster }: StepKey): string => `${kind}/${upgrade}/${cluster}`;
