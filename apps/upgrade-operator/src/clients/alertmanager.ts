import { errorMessage } from '@flotilla/api';
import { z } from 'zod';
import { ServiceError, ServiceErrorCode } from './errors.ts';
import { createHttp, type HttpCall, type HttpSurroundings, MAX_MONITOR_BYTES, monitorList, parseJson } from './http.ts';

/** A matcher of a silence. */
export interface Matcher {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
}

/** A silence as it is written. */
export interface NewSilence {
  /** Of a silence there is: that one changes. */
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

/** How Alertmanager is reached. */
interface AlertmanagerOptions extends HttpSurroundings {
  /** Asked before each call. */
  readonly url: () => Promise<URL>;
  readonly ca?: () => Promise<string | undefined>;
  readonly authorize?: (refused: boolean) => Promise<string | undefined>;
}

const Posted = z.looseObject({ silenceID: z.string().min(1) });

/** Opens nothing before the first call. */
export function createAlertmanager({ url, ...options }: AlertmanagerOptions): Alertmanager {
  const http = createHttp({ ...options, name: 'Alertmanager', maxBytes: MAX_MONITOR_BYTES });
  const send = async (operation: Operation, call: Omit<HttpCall, 'url'>, path: string): Promise<string> => {
    try {
      return (await http.send({ ...call, url: new URL(path, await url()) })).text;
    } catch (error) {
      throw inItsWords(operation, error);
    }
  };
  return {
    async silences(signal) {
      const text = await send(Operation.list, { method: 'GET', signal }, '/api/v2/silences');
      return parseJson(SilencesAnswer, text, { what: 'Alertmanager: GET /api/v2/silences', status: 200 });
    },
    async put(silence, signal) {
      const text = await send(Operation.post, { method: 'POST', body: silence, signal }, '/api/v2/silences');
      return parseJson(Posted, text, { what: 'Alertmanager: POST /api/v2/silences', status: 200 }).silenceID;
    },
    async expire(id, signal) {
      try {
        await send(Operation.expire, { method: 'DELETE', signal }, `/api/v2/silence/${encodeURIComponent(id)}`);
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

interface Operation {
  readonly path: string;
  readonly name: string;
}
const Operation = {
  list: { path: 'GET /silences', name: 'getSilences' },
  post: { path: 'POST /silences', name: 'postSilences' },
  expire: { path: 'DELETE /silence/{silenceID}', name: 'deleteSilence' },
} as const satisfies Readonly<Record<string, Operation>>;

const STATUS_NAMES: Readonly<Record<number, string>> = { 400: 'BadRequest', 404: 'NotFound', 500: 'InternalServerError' };

/** Conditions are compared by these words (spec/muo 7.2). */
function inItsWords({ path, name }: Operation, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.status === 0) return error;
  const known = STATUS_NAMES[error.status];
  const words = unquoted(error.words).slice(0, 512);
  const message = known
    ? `[${path}][${error.status}] ${name}${known}  ${words}`
    : `[${path}] unknown error (status ${error.status}): ${words}`;
  return error.reworded(message.trimEnd());
}

/** Alertmanager says why in a JSON string. */
function unquoted(words: string): string {
  try {
    return z.string().catch(words).parse(JSON.parse(words));
  } catch {
    return words;
  }
}

/** 404, or what Alertmanager says in a 500 where it knows no such silence, or the silence has expired. */
const isGone = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.status === 404 ||
    (error.code === ServiceErrorCode.unavailable && /silence not found|not found|already expired/i.test(errorMessage(error))));
