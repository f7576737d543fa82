import { z } from 'zod';

/** Subject of a step; its plan follows from the observation. */
const StepKind = z.enum(['precache', 'backup', 'rollout']);
/** Kind of a step. */
export type StepKind = z.output<typeof StepKind>;

const StepKey = z.strictObject({
  kind: StepKind,
  upgrade: z.string().regex(/^[\w.-]{1,128}$/),
  cluster: z.string().regex(/^[\w.-]{1,253}$/),
});
/** The only content of a queue: kind of step, uid of the upgrade, cluster. A forged key can only cause a reconcile. */
export type StepKey = Readonly<z.output<typeof StepKey>>;

/** Serializes a key; equal keys give equal texts. */
export const keyId = ({ kind, upgrade, cluster }: StepKey): string => `${kind}/${upgrade}/${cluster}`;

/** Cached, because every reconcile of every spoke parses its key. Bounded, because anybody with access to the queue can make up keys. */
const parsed = new Map<string, StepKey>();
const MOST_PARSED = 20_000;

/** Parses a key; undefined for any other text. */
export function parseStepKey(text: string): StepKey | undefined {
  const known = parsed.get(text);
  if (known) return known;
  const [kind, upgrade, cluster, ...more] = text.split('/');
  const key = more.length > 0 ? undefined : StepKey.safeParse({ kind, upgrade, cluster }).data;
  if (!key) return undefined;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(text, Object.freeze(key));
  return key;
}
