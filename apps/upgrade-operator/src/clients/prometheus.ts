import { z } from 'zod';
import { ServiceError, ServiceErrorCode } from './errors.ts';
import { createHttp, MAX_MONITOR_BYTES, monitorList, type ServiceOptions } from './http.ts';

/** One series of an instant query. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Asks Prometheus. An answer that is no result is an error, never an empty result. */
export interface Prometheus extends AsyncDisposable {
  query(promql: string, signal?: AbortSignal): Promise<Sample[]>;
}

const Answer = z.looseObject({
  status: z.literal('success', { error: ({ input }) => `is ${JSON.stringify(input)}, not "success"` }),
  data: z.looseObject({
    resultType: z.literal('vector', { error: ({ input }) => `is ${JSON.stringify(input)}, not "vector"` }),
    result: monitorList(z.looseObject({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
  }),
});
const ErrorDocument = z.looseObject({ status: z.literal('error'), errorType: z.string().default(''), error: z.string().default('') });

const describeWrong = ({ input }: { input?: unknown }): string =>
  `not a query result: ${JSON.stringify(input)?.slice(0, 200) ?? 'nothing'}`;

/** Opens nothing before the first query. */
export function createPrometheus({ url, ...options }: ServiceOptions): Prometheus {
  const http = createHttp({ ...options, name: 'Prometheus', maxBytes: MAX_MONITOR_BYTES });
  return {
    async query(promql, signal) {
      const target = new URL('/api/v1/query', await url());
      target.searchParams.set('query', promql);
      const answer = await http.json(QueryAnswer, { method: 'GET', url: target, signal });
      if (answer.status === 'error') {
        const { errorType, error } = answer;
        throw new ServiceError(ServiceErrorCode.badAnswer, `Prometheus: the query failed: ${errorType}: ${error}`.slice(0, 512));
      }
      return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** Prometheus's answer to an instant query. */
export const QueryAnswer = z.union([Answer, ErrorDocument], { error: describeWrong });

/** A text in PromQL's double quotes. */
export const promqlString = (text: string): string => JSON.stringify(text);
