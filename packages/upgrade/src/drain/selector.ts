import type { LabelSelector } from '@flotilla/api';
import type { Pod, PodDisruptionBudget } from '@flotilla/api/core';

/** True when a budget covers a pod: same namespace, all labels and expressions. No selector selects nothing, an empty one everything. */
export function protects({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace || !spec?.selector) return false;
  return selects(spec.selector, pod.metadata.labels ?? {});
}

function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => holds(operator, labels[key], values))
  );
}

function holds(operator: string, value: string | undefined, values: readonly string[]): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isIn = value !== undefined && values.includes(value);
  if (operator === 'In') return isIn;
  return operator === 'NotIn' && !isIn;
}
