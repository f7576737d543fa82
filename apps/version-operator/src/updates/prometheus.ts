import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { errorMessage } from '@flotilla/api';
import { createPrometheus, NO_RETRY, type Prometheus } from '@flotilla/http';
import { alertRisks, type ClusterRisk, type Exposure, promqlPace, unknownAlerts } from '@flotilla/release';
import type { Clock } from '@flotilla/runtime';

/** The cluster's monitoring. Its files are read at each question, as they are renewed. */
export interface MonitoringSource {
  /** Monitoring, without the path of a query. */
  readonly monitoringUrl: string;
  /** File with the token that monitoring wants. Default: none is sent. */
  readonly monitoringTokenFile?: string | undefined;
  /** File with the authorities of monitoring's certificate. */
  readonly monitoringCaFile?: string | undefined;
}

/** Monitoring is asked at a pace; a question that takes longer is given up (spec/cvo 5.7). */
const TIMEOUT_MS = 300_000;

/** Opens nothing before the first question. A question is asked once: its time comes again. */
export function openMonitoring(
  source: MonitoringSource,
  { clock, timeoutMs = TIMEOUT_MS }: { clock: Clock; timeoutMs?: number },
): Prometheus {
  const { monitoringUrl, monitoringTokenFile: tokenFile, monitoringCaFile: caFile } = source;
  let token = '';
  /** A file that is being renewed may be empty: the token before counts until it is not. */
  const bearer = async (path: string): Promise<string> => {
    token = (await readFile(path, 'utf8')).trim() || token;
    return `Bearer ${token}`;
  };
  return createPrometheus({
    clock,
    timeoutMs,
    retry: NO_RETRY,
    url: async () => new URL(monitoringUrl),
    ca: async () => textOf(caFile),
    ...(tokenFile !== undefined && { authorize: () => bearer(tokenFile) }),
  });
}

/** A file that is not there trusts nobody beside the system's authorities. */
function textOf(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Asks monitoring whether a risk's query holds: it must answer one sample, 0 or 1. Rejects only when the signal aborts. */
export async function askPrometheus(query: string, prometheus: Pick<Prometheus, 'query'>, signal: AbortSignal): Promise<Exposure> {
  try {
    const samples = await prometheus.query(query, signal);
    const [{ value } = {}] = samples;
    if (samples.length !== 1) return { error: `invalid PromQL result length must be one, but is ${samples.length}` };
    if (value === 0 || value === 1) return { matches: value === 1 };
    return { error: `invalid PromQL result (must be 0 or 1): ${value}` };
  } catch (error) {
    signal.throwIfAborted();
    return { error: `executing PromQL query: ${errorMessage(error)}` };
  }
}

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
