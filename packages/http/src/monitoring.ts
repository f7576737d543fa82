import { readJson } from '@flotilla/api';
import { z } from 'zod';
import { MAX_REDIRECTS } from './answer.ts';
import { ServiceError, ServiceErrorCode } from './errors.ts';
import { createHttp, type HttpCall, MAX_MONITOR_BYTES, monitorList, printable, type ServiceOptions } from './service.ts';

/** One series of an instant query. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Asks Prometheus. An answer that is no result is an error, never an empty result. */
export interface Prometheus extends AsyncDisposable {
  query(promql: string, signal?: AbortSignal): Promise<Sample[]>;
  alerts(signal?: AbortSignal): Promise<Alert[]>;
}

const texts = z.record(z.string(), z.string()).default({});
const Alert = z.looseObject({ state: z.string(), labels: texts, annotations: texts });
/** An alert as Prometheus tells it; `state` is `pending` or `firing`. */
type Alert = z.output<typeof Alert>;
const success = z.literal('success', { error: ({ input }) => `is ${JSON.stringify(input)}, not "success"` });
const ErrorDocument = z.looseObject({ status: z.literal('error'), errorType: z.string().default(''), error: z.string().default('') });

const describeWrong = ({ input }: { input?: unknown }): string =>
  `not a query result: ${JSON.stringify(input)?.slice(0, 200) ?? 'nothing'}`;
const orError = <T extends z.ZodType>(data: T) =>
  z.union([z.looseObject({ status: success, data }), ErrorDocument], { error: describeWrong });

/** Prometheus's answer to an instant query. */
export const QueryAnswer = orError(
  z.looseObject({
    resultType: z.literal('vector', { error: ({ input }) => `is ${JSON.stringify(input)}, not "vector"` }),
    result: monitorList(z.looseObject({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
  }),
);
const AlertsAnswer = orError(z.looseObject({ alerts: monitorList(Alert) }));

/** Bytes of all alerts: a cluster in trouble has thousands. */
const MAX_ALERT_BYTES = 8 * 2 ** 20;
/** Characters of Prometheus's own words. */
const SAID = 512;

/** Opens nothing before the first question. Its URL may have a path, which leads those of the questions. */
export function createPrometheus({ url, ...options }: ServiceOptions): Prometheus {
  const http = createHttp({ ...options, name: 'Prometheus', maxBytes: MAX_MONITOR_BYTES, redirects: MAX_REDIRECTS, reword: inItsWords });
  async function ask<T>(path: string, schema: z.ZodType<T | Refusal>, { query = {}, ...call }: Question): Promise<T> {
    const target = new URL(`api/v1/${path}`, (await url()).href.replace(/\/?$/, '/'));
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
    const answer = await http.json(schema, { ...call, method: 'GET', url: target });
    if (!isRefusal(answer)) return answer;
    throw new ServiceError(ServiceErrorCode.badAnswer, `Prometheus: the query failed: ${saidIn(answer)}`);
  }
  return {
    async query(promql, signal) {
      const { data } = await ask('query', QueryAnswer, { query: { query: promql }, signal });
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    alerts: async (signal) => (await ask('alerts', AlertsAnswer, { signal, maxBytes: MAX_ALERT_BYTES })).data.alerts,
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

type Question = Pick<HttpCall, 'signal' | 'maxBytes'> & { readonly query?: Readonly<Record<string, string>> };
type Refusal = z.output<typeof ErrorDocument>;
const isRefusal = (answer: unknown): answer is Refusal => ErrorDocument.safeParse(answer).success;

const saidIn = ({ errorType, error }: Refusal): string => printable(errorType === '' ? error : `${errorType}: ${error}`).slice(0, SAID);

/** A refusal holds what is wrong as a document. */
function inItsWords({ status, words }: ServiceError, { method, url }: HttpCall): string | undefined {
  const { data } = ErrorDocument.safeParse(readJson(words));
  return data && `Prometheus: ${method} ${url.pathname} answered ${status}: ${saidIn(data)}`;
}

/** A text in PromQL's double quotes. */
export const promqlString = (text: string): string => JSON.stringify(text);
