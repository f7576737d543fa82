import { z } from 'zod';

/** metav1.Condition. */
export const Condition = z.object({
  type: z.string().describe('Type of the condition, in CamelCase.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition.'),
  reason: z.string().describe('Reason for the last transition, in CamelCase.'),
  message: z.string().describe('What happened, and what to do about it.'),
  lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('When the status last changed.'),
  observedGeneration: z.int().optional().describe('Generation of the object the condition was computed for.'),
});
export type Condition = z.output<typeof Condition>;

/** Finds the condition of a type. */
export const findCondition = <C extends { type: string }>(conditions: readonly C[] | null | undefined, type: string): C | undefined =>
  conditions?.find((condition) => condition.type === type);

/**
 * True while the status is about an older generation of the spec. A status that states none counts as current: hubs in strict mode leave it out. So does
 * one that no program has written: it says nothing of any spec.
 */
export const isSpecUnprocessed = ({ metadata, status }: Observed): boolean => {
  const observed = status?.observedGeneration ?? -1;
  return observed >= 0 && observed < (metadata.generation ?? 0);
};

/** An object whose status has the generation that it is about. */
interface Observed {
  readonly metadata: { readonly generation?: number | undefined };
  readonly status?: { readonly observedGeneration?: number | undefined } | undefined;
}

/** Says which generations these are, in a sentence's beginning that names who has to process the spec. */
export const describeUnprocessed = (program: string, { metadata, status }: Observed): string =>
  `no ${program} has processed generation ${metadata.generation} of the spec yet; the status is about generation ${status?.observedGeneration}`;

/** Formats RFC 3339 with whole seconds, as metav1.Time does. */
export const conditionTime = (nowMs: number): string => `${new Date(nowMs).toISOString().slice(0, 19)}Z`;

/** Sets a condition as `meta.SetStatusCondition` does: it keeps its place, and `lastTransitionTime` moves only when the status changes. */
export function withCondition(
  conditions: readonly Condition[] | null | undefined,
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): Condition[] {
  const condition = datedCondition(conditions, next, nowMs);
  const old = findCondition(conditions, next.type);
  if (!old) return [...(conditions ?? []), condition];
  return (conditions ?? []).map((other) => (other === old ? condition : other));
}

/** A condition with the time at which its status last changed, by those that stood before. */
export const datedCondition = (
  before: readonly Condition[] | null | undefined,
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): Condition => {
  const old = findCondition(before, next.type);
  return { ...next, lastTransitionTime: old?.status === next.status ? old.lastTransitionTime : conditionTime(nowMs) };
};
