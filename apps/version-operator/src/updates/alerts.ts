import { errorMessage } from '@flotilla/api';
import { alertRisks, type ClusterRisk, unknownAlerts } from '@flotilla/release';
import { z } from 'zod';
import { askMonitoring, jsonOf, type PrometheusOptions } from './prometheus.ts';

/** Bytes of an answer: a cluster in trouble has thousands of alerts. */
const MAX_BYTES = 8 << 20;
const texts = z.record(z.string(), z.string()).default({});
const Answer = z.object({
  status: z.literal('success'),
  data: z.object({ alerts: z.array(z.looseObject({ state: z.string(), labels: texts, annotations: texts })) }),
});

/** Asks monitoring for alerts that speak against updates; not knowing them is a risk too. Rejects only when the signal aborts. */
export async function askAlerts(options: PrometheusOptions, signal: AbortSignal): Promise<readonly ClusterRisk[]> {
  try {
    const { status, text } = await askMonitoring({ path: '/api/v1/alerts', maxBytes: MAX_BYTES }, options, signal);
    if (status !== 200) return [unknownAlerts(`monitoring answered ${status}`)];
    const answer = Answer.safeParse(jsonOf(text));
    return answer.success ? alertRisks(answer.data.data.alerts) : [unknownAlerts('the answer is none of Prometheus')];
  } catch (error) {
    signal.throwIfAborted();
    return [unknownAlerts(errorMessage(error))];
  }
}
