import { z } from 'zod';

/** Subject of a step; its plan follows from the observation. */
const StepKind = z.enum(['precache', 'backup', 'rollout', 'placements']);
/** Kind of a step. */
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
 * The only content of a queue: kind of step, uid of the upgrade, cluster; empty for Placements, which belong to the whole upgrade. A forged key can
 * only cause a reconcile.
 */
export type StepKey = Readonly<z.output<typeof StepKey>>;

/** Serializes a key; equal keys give equal texts. */
export const keyId = ({ kind, upgrade, cluster }: StepKey): string => `${kind}/${upgrade}/${cluster}`;

/** Parses a key; undefined for any other text. */
export function parseStepKey(text: string): StepKey | undefined {
  const [kind, upgrade, cluster, ...more] = text.split('/');
  return more.length > 0 ? undefined : StepKey.safeParse({ kind, upgrade, cluster }).data;
}
