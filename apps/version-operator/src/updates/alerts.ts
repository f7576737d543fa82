import { errorMessage, foreign, readJson } from '@flotilla/api';
import { alertRisks, type ClusterRisk, promqlPace, unknownAlerts } from '@flotilla/release';
import { z } from 'zod';
import { askMonitoring, type PrometheusOptions, refusalOf } from './prometheus.ts';

/** Bytes of an answer: a cluster in trouble has thousands of alerts. */
const MAX_BYTES = 8 << 20;
const texts = z.record(z.string(), z.string()).default({});
const Answer = foreign(
  z.object({
    status: z.literal('success'),
    data: z.object({ alerts: z.array(z.looseObject({ state: z.string(), labels: texts, annotations: texts })) }),
  }),
);

/** The alerts that speak against updates, or why they are not known. */
type AskedAlerts = { readonly risks: readonly ClusterRisk[] } | { readonly error: string };

/** Asks monitoring for alerts that speak against updates. Rejects only when the signal aborts. */
export async function askAlerts(options: PrometheusOptions, signal: AbortSignal): Promise<AskedAlerts> {
  try {
    const { status, text } = await askMonitoring({ path: '/api/v1/alerts', maxBytes: MAX_BYTES }, options, signal);
    const answer = Answer.safeParse(status === 200 ? readJson(text) : undefined);
    return answer.success ? { risks: alertRisks(answer.data.data.alerts) } : { error: refusalOf(status, text) };
  } catch (error) {
    signal.throwIfAborted();
    return { error: errorMessage(error) };
  }
}

/** Alerts that were known once count for so long when monitoring gives no answer, milliseconds. */
const COUNTS_MS = promqlPace.forgetMs;

/** The alerts that speak against updates, as they were told last; not knowing them is a risk too. */
export class KnownAlerts {
  #risks: readonly ClusterRisk[] = [];
  #toldAtMs = Number.NEGATIVE_INFINITY;

  get risks(): readonly ClusterRisk[] {
    return this.#risks;
  }

  /** Takes what came of a question. A failure does not take the place of an answer before its day is over. */
  take(asked: AskedAlerts, nowMs: number): void {
    if ('risks' in asked) {
      this.#risks = asked.risks;
      this.#toldAtMs = nowMs;
    } else if (nowMs - this.#toldAtMs >= COUNTS_MS) this.#risks = [unknownAlerts(asked.error)];
  }

  clear(): void {
    this.#risks = [];
    this.#toldAtMs = Number.NEGATIVE_INFINITY;
  }
}
