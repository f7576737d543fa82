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
