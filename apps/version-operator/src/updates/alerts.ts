import { errorMessage } from '@flotilla/api';
import type { Prometheus } from '@flotilla/http';
import { alertRisks, type ClusterRisk, promqlPace, unknownAlerts } from '@flotilla/release';

/** The alerts that speak against updates, or why they are not known. */
type AskedAlerts = { readonly risks: readonly ClusterRisk[] } | { readonly error: string };

/** Asks monitoring for alerts that speak against updates. Rejects only when the signal aborts. */
export async function askAlerts(prometheus: Pick<Prometheus, 'alerts'>, signal: AbortSignal): Promise<AskedAlerts> {
  try {
    return { risks: alertRisks(await prometheus.alerts(signal)) };
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
