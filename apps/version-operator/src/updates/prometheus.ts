import { readFile } from 'node:fs/promises';
import { errorMessage, foreign, readJson } from '@flotilla/api';
import { type FollowingConnections, fetchAnswer } from '@flotilla/http';
import { type Exposure, saidText } from '@flotilla/release';
import { z } from 'zod';

/** The cluster's monitoring. */
export interface PrometheusOptions {
  /** URL of its queries, without the path. */
  readonly url: string;
  /** File with the token that it wants; read at each question, as tokens are renewed. Default: none is sent. */
  readonly tokenFile?: string | undefined;
  readonly connections: FollowingConnections;
  /** Time-out of one question. */
  readonly timeoutMs: number;
}

const MAX_BYTES = 1 << 20;

/** Bytes of a refusal: what is wrong, in a few words or on a page. */
const REFUSAL_BYTES = 64 << 10;
const MOST_SAID = 512;

const Answer = foreign(
  z.object({
    status: z.literal('success'),
    data: z.object({ resultType: z.string(), result: z.array(z.looseObject({ value: z.tuple([z.number(), z.string()]) })) }),
  }),
);

/** Asks monitoring whether a risk's query holds: it must answer one sample, 0 or 1. Rejects only when the signal aborts. */
export async function askPrometheus(query: string, options: PrometheusOptions, signal: AbortSignal): Promise<Exposure> {
  try {
    const { status, text } = await askMonitoring({ path: '/api/v1/query', query: { query }, maxBytes: MAX_BYTES }, options, signal);
    return status === 200 ? exposureOf(text) : { error: `executing PromQL query: ${refusalOf(status, text)}` };
  } catch (error) {
    signal.throwIfAborted();
    return { error: `executing PromQL query: ${errorMessage(error)}` };
  }
}

interface MonitoringQuestion {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Bytes of an answer that are read at most. */
  readonly maxBytes: number;
}

/** Asks monitoring with the token of the moment. Rejects when no whole answer comes. */
export async function askMonitoring(
  { path, query = {}, maxBytes }: MonitoringQuestion,
  { url, tokenFile, connections, timeoutMs }: PrometheusOptions,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const target = new URL(`${url.replace(/\/$/, '')}${path}`);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  const token = tokenFile === undefined ? '' : (await readFile(tokenFile, { encoding: 'utf8', signal })).trim();
  const headers = { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) };
  const { dispatcherFor } = await connections.current();
  return fetchAnswer({ url: target, headers, dispatcherFor, timeoutMs, maxBytes, refusalBytes: REFUSAL_BYTES, signal });
}

function exposureOf(text: string): Exposure {
  const parsed = Answer.safeParse(readJson(text));
  if (!parsed.success) return { error: `executing PromQL query: ${refusalOf(200, text)}` };
  const { resultType, result } = parsed.data.data;
  if (resultType !== 'vector') return { error: `invalid PromQL result type is ${resultType.slice(0, 40)}, not vector` };
  if (result.length !== 1) return { error: `invalid PromQL result length must be one, but is ${result.length}` };
  const value = Number(result[0]?.value[1]);
  if (value === 0 || value === 1) return { matches: value === 1 };
  return { error: `invalid PromQL result (must be 0 or 1): ${String(result[0]?.value[1]).slice(0, 40)}` };
}

const Refusal = foreign(z.object({ status: z.literal('error'), errorType: z.string().default(''), error: z.string() }));

/** Describes an answer that is none, in monitoring's own words where it has some. */
export function refusalOf(status: number, text: string): string {
  const { errorType, error } = Refusal.safeParse(readJson(text)).data ?? {};
  if (error === undefined) return status === 200 ? 'the answer is none of Prometheus' : `monitoring answered ${status}`;
  return [`monitoring answered ${status}`, errorType, saidText(error, MOST_SAID)].filter((part) => part !== '').join(': ');
}
