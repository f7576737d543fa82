import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { z } from 'zod';
import { NoSpaceError, PullerErrorCode, StoreError } from '../errors.ts';
import type { ProtocolMethod } from './protocol.ts';

/** Options of a call. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  readonly metadata?: Metadata;
}

/** Options of a stream. */
interface StreamOptions {
  readonly metadata: Metadata;
  readonly deadlineMs?: number;
}

/** Connection to a runtime's unix socket. */
export class CriConnection implements Disposable {
  readonly socket: string;
  readonly #client: Client;

  constructor(socket: string) {
    this.socket = socket;
    this.#client = new Client(`unix://${socket}`, credentials.createInsecure(), {
      // Go servers refuse a socket path as authority
      'grpc.default_authority': 'localhost',
      // a socket of this node is never behind a proxy
      'grpc.enable_http_proxy': 0,
      'grpc.max_receive_message_length': 16 * 1024 * 1024,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2_000,
    });
  }

  /**
   * Makes one call and parses its answer.
   * @throws StoreError or NoSpaceError; see `isRefusal` for a missing call or object
   */
  async call<T>(method: ProtocolMethod, request: object, schema: z.ZodType<T>, options: CallOptions): Promise<T> {
    const answer = await new Promise<unknown>((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        options.metadata ?? new Metadata(),
        { deadline: Date.now() + options.deadlineMs },
        (error, value) => (error ? reject(error) : resolve(value)),
      );
      const cancel = (): void => call.cancel();
      options.signal.addEventListener('abort', cancel, { once: true });
      call.on('status', () => options.signal.removeEventListener('abort', cancel));
      if (options.signal.aborted) cancel();
    }).catch((error: unknown) => {
      options.signal.throwIfAborted();
      throw this.translate(error);
    });
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new StoreError(PullerErrorCode.storeUnreachable, `the runtime at ${this.socket} answered ${method.path} in an unknown way`, {
      transient: false,
      cause: parsed.error,
    });
  }

  /** Translates the error of a stream, as `call` does that of a call. */
  translate(error: unknown): unknown {
    return isServiceError(error) ? toStoreError(error, this.socket) : error;
  }

  /** Opens a call that gives a stream of messages; the deadline bounds all of it. */
  openAnswers(method: ProtocolMethod, request: object, { metadata, deadlineMs }: StreamOptions): ClientReadableStream<object> {
    const { path, requestSerialize, responseDeserialize } = method;
    const deadline = Date.now() + (deadlineMs ?? Number.POSITIVE_INFINITY);
    return this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata, { deadline });
  }

  /** Opens a call that takes and gives messages. Its user bounds the wait for each. */
  openDuplex(method: ProtocolMethod, { metadata }: StreamOptions): ClientDuplexStream<object, object> {
    return this.#client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize, metadata);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error;

/** Codes of calls that may succeed later; the runtime reports broken downloads as UNKNOWN. */
const transientCodes: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.ABORTED,
  status.RESOURCE_EXHAUSTED,
  status.INTERNAL,
]);
/** Texts of registries, quoted by the runtime, for which a retry is useless. */
const refusal =
  /\b(401|403|404)\b|unauthorized|forbidden|access denied|authorization failed|requested access to the resource is denied|manifest unknown|not found|no match for platform/i;

/** Translates a runtime's refusal; the error itself would say the same again. Exported for its table test. */
export function toStoreError(error: Pick<ServiceError, 'code' | 'details'>, socket: string): StoreError | NoSpaceError {
  const refusedWith = error.code;
  const details = error.details.replaceAll(/\s+/g, ' ').slice(0, 800);
  if (/no space left on device|disk quota exceeded/i.test(details)) return new NoSpaceError(`the node's image store is full: ${details}`);
  const name = status[error.code] ?? String(error.code);
  if (error.code === status.UNAVAILABLE)
    return new StoreError(PullerErrorCode.storeUnreachable, `the runtime at ${socket} does not answer: ${details}`, {
      transient: true,
      refusedWith,
    });
  const transient = transientCodes.has(error.code) && !(error.code === status.UNKNOWN && refusal.test(details));
  return new StoreError(PullerErrorCode.storeRefused, `${name}: ${details}`, { transient, refusedWith });
}

/** True when the server refused with this code. */
export const isRefusal = (error: unknown, code: keyof typeof status): boolean =>
  error instanceof StoreError && error.refusedWith === status[code];
