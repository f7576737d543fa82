import { errorMessage, readJson } from '@flotilla/api';
import {
  createHttp,
  type HttpCall,
  MAX_MONITOR_BYTES,
  monitorList,
  ServiceError,
  ServiceErrorCode,
  type ServiceOptions,
} from '@flotilla/http';
import { z } from 'zod';

/** A matcher of a silence. */
export interface Matcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
}

/** A silence as it is written. */
export interface NewSilence {
  /** Id of an existing silence, which this changes. */
  readonly id?: string;
  readonly matchers: readonly Matcher[];
  readonly startsAt: string;
  readonly endsAt: string;
  readonly createdBy: string;
  readonly comment: string;
}

const Silence = z.looseObject({
  id: z.string(),
  comment: z.string().default(''),
  createdBy: z.string().default(''),
  startsAt: z.string(),
  endsAt: z.string(),
  status: z.looseObject({ state: z.enum(['active', 'pending', 'expired']) }),
  matchers: z.array(z.looseObject({ name: z.string(), value: z.string(), isRegex: z.boolean() })),
});
/** Alertmanager's answer to a question for its silences. */
export const SilencesAnswer = monitorList(Silence);
/** A silence as Alertmanager has it. */
export type Silence = z.output<typeof Silence>;

/** Silences of one Alertmanager. Errors are worded as its own clients word them. */
export interface Alertmanager extends AsyncDisposable {
  /** All of them, expired ones as long as they are remembered. */
  silences(signal?: AbortSignal): Promise<Silence[]>;
  /** Creates one, or changes the one of that id; returns its id. */
  put(silence: NewSilence, signal?: AbortSignal): Promise<string>;
  /** Ends one; it stays known as expired. Nothing to end is fine. */
  expire(id: string, signal?: AbortSignal): Promise<void>;
}

const Posted = z.looseObject({ silenceID: z.string().min(1) });

/** Opens nothing before the first call. */
export function createAlertmanager({ url, ...options }: ServiceOptions): Alertmanager {
  const http = createHttp({ ...options, name: 'Alertmanager', maxBytes: MAX_MONITOR_BYTES, reword: inItsWords });
  const at = async (path: string) => new URL(`/api/v2/${path}`, await url());
  return {
    silences: async (signal) => http.json(SilencesAnswer, { method: 'GET', url: await at('silences'), signal }),
    async put(silence, signal) {
      return (await http.json(Posted, { method: 'POST', url: await at('silences'), body: silence, signal })).silenceID;
    },
    async expire(id, signal) {
      try {
        await http.send({ method: 'DELETE', url: await at(`silence/${encodeURIComponent(id)}`), signal });
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** Names of the operations in Alertmanager's own clients. */
const OPERATIONS: Readonly<Partial<Record<HttpCall['method'], readonly [path: string, name: string]>>> = {
  GET: ['GET /silences', 'getSilences'],
  POST: ['POST /silences', 'postSilences'],
  DELETE: ['DELETE /silence/{silenceID}', 'deleteSilence'],
};

const STATUS_NAMES: Readonly<Record<number, string>> = { 400: 'BadRequest', 404: 'NotFound', 500: 'InternalServerError' };

/** Conditions are compared by these words (spec/muo 7.2). */
function inItsWords(error: ServiceError, { method }: HttpCall): string | undefined {
  if (error.status === 0) return undefined;
  const [path, name] = OPERATIONS[method] ?? [];
  const known = STATUS_NAMES[error.status];
  const words = unquoted(error.words).slice(0, 512);
  const message = known
    ? `[${path}][${error.status}] ${name}${known}  ${words}`
    : `[${path}] unknown error (status ${error.status}): ${words}`;
  return message.trimEnd();
}

/** Alertmanager says why in a JSON string. */
const unquoted = (words: string): string => z.string().catch(words).parse(readJson(words));

/** 404, or what Alertmanager says in a 500 where it knows no such silence, or the silence has expired. */
const isGone = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.status === 404 ||
    (error.code === ServiceErrorCode.unavailable && /silence not found|not found|already expired/i.test(errorMessage(error))));
