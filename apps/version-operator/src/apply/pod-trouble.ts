import { foreign } from '@flotilla/api';
import { podTrouble } from '@flotilla/release';
import type { Client, Semaphore } from '@flotilla/runtime';
import { z } from 'zod';
import type { LiveObject } from '../cluster/live-object.ts';

const Selector = z.object({
  matchLabels: z.record(z.string(), z.string()).nullish(),
  matchExpressions: z.array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).nullish() })).nullish(),
});
const Workload = foreign(z.object({ spec: z.object({ selector: Selector }) }));
const PodList = foreign(z.object({ items: z.array(z.record(z.string(), z.unknown())) }));

/** Pods that are looked at: those that do not run say most. */
const QUESTIONS = [
  { fieldSelector: 'status.phase!=Running,status.phase!=Succeeded', limit: '20' },
  { fieldSelector: 'status.phase=Running', limit: '100' },
];
const TIMEOUT_MS = 5_000;

/** The label selector of a workload's pods, as a list takes it; undefined for an object without one. */
export function podSelectorOf(object: LiveObject | undefined): string | undefined {
  const { matchLabels, matchExpressions } = Workload.safeParse(object?.judged).data?.spec.selector ?? {};
  const labels = Object.entries(matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (matchExpressions ?? []).map(({ key, operator, values }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator.toLowerCase()} (${(values ?? []).join(',')})`;
  });
  // an empty selector would be that of every pod
  return [...labels, ...expressions].join(',') || undefined;
}

interface PodTools {
  readonly client: Client;
  readonly budget: Semaphore;
  readonly signal: AbortSignal;
}

/** Reads from one of a workload's pods why it does not get on; undefined without one. No pod is kept or watched: a cluster has too many. */
export async function readPodTrouble(
  namespace: string,
  selector: string,
  { client, budget, signal }: PodTools,
): Promise<string | undefined> {
  for (const question of QUESTIONS) {
    const query = new URLSearchParams({ ...question, labelSelector: selector });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods?${query.toString()}`;
    const answer = await budget.run(() => client.request('GET', path, { timeoutMs: TIMEOUT_MS, signal }));
    const trouble = podTrouble(PodList.parse(answer).items);
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}
