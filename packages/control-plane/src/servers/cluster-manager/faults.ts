import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** Fault of a request. */
export interface Fault {
  /** Pattern of verb and path; default every request. */
  readonly path?: RegExp;
  /** Default: for ever. */
  readonly times?: number;
  /** Waits before anything else. */
  readonly delayMs?: number;
  /** Answers with it and a refusal's body, or `body`. */
  readonly status?: number;
  /** Sent as it is, with status 200 unless another is given. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Promises more than it sends and closes the connection. */
  readonly half?: boolean;
  /** Closes the connection without a word. */
  readonly cut?: boolean;
}

/** Plays it; false: the request is answered as if nothing were wrong. */
export async function playFault(fault: Fault, response: ServerResponse): Promise<boolean> {
  if (fault.delayMs !== undefined) await delay(fault.delayMs, undefined, { ref: false });
  if (fault.cut) {
    response.destroy();
    return true;
  }
  if (fault.status === undefined && fault.body === undefined && !fault.half) return false;
  const status = fault.status ?? 200;
  const body =
    fault.body ?? JSON.stringify({ kind: 'Error', id: String(status), code: `CLUSTERS-MGMT-${status}`, reason: 'played by a test' });
  const headers = { 'content-type': 'application/json', ...fault.headers };
  if (!fault.half) {
    response.writeHead(status, headers).end(body);
    return true;
  }
  response.writeHead(status, { ...headers, 'content-length': String(body.length + 100) });
  response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.destroy());
  return true;
}
