/** Whom the console's server lets in, and with whose rights they look. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { FlotillaError } from '@flotilla/api';
import type { LoginWay } from '@flotilla/api/answers';
import type { Viewer } from './viewer.ts';

/** Decides on each request that asks or changes something. */
export interface Door {
  /** The way by which a page gets its credential. */
  readonly login: LoginWay;
  /** Origins under which the page is opened. @param port on which the server listens */
  origins(port: number): readonly string[];
  /** The look of whoever asks. Throws `FLOTILLA_CONSOLE_LOGIN` for nobody that is known. */
  enter(headers: IncomingHttpHeaders): Promise<Viewer>;
}

/** The door of one person on their own machine: whoever knows the secret of the printed address. */
export function ownDoor(viewer: Viewer): Door & { readonly token: string } {
  const token = randomBytes(32).toString('base64url');
  const wanted = Buffer.from(`Bearer ${token}`);
  return {
    token,
    login: 'address',
    origins: (port) => [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
    enter({ authorization = '' }) {
      const said = Buffer.from(authorization);
      if (said.length === wanted.length && timingSafeEqual(said, wanted)) return Promise.resolve(viewer);
      return Promise.reject(stranger('the token is missing or wrong: open the address that the command printed'));
    },
  };
}

/** Headers in which a proxy in front may give the token of whoever asks. */
export const PROXY_HEADERS = ['authorization', 'x-forwarded-access-token'] as const;

/** Where the tokens of several people come from. */
interface SharedDoorOptions {
  /** Where the page is opened. */
  readonly origins: readonly string[];
  /** Header that a proxy sets; undefined: the page sends what was pasted. */
  readonly proxyHeader: (typeof PROXY_HEADERS)[number] | undefined;
  readonly viewers: { enter(token: string): Promise<Viewer> };
}

/** A token as RFC 6750 has it, no longer than a header may be. */
const TOKEN = /^[\w.~+/-]{8,12000}={0,2}$/;

/** The door of several people: each brings a token of the API server, which alone decides what it is worth. */
export function sharedDoor({ origins, proxyHeader, viewers }: SharedDoorOptions): Door {
  const header = proxyHeader ?? 'authorization';
  return {
    login: proxyHeader === undefined ? 'token' : 'proxy',
    origins: () => origins,
    async enter(headers) {
      const given = headers[header];
      const token = typeof given === 'string' ? given.replace(/^Bearer /i, '') : '';
      if (!TOKEN.test(token))
        throw stranger(
          proxyHeader === undefined
            ? 'no token: log in with one of the API server'
            : `header ${header} has no token: have the proxy in front send it (docs/console.md)`,
        );
      return viewers.enter(token);
    },
  };
}

/** The refusal of somebody who is not known. */
export const stranger = (says: string): FlotillaError => new FlotillaError('FLOTILLA_CONSOLE_LOGIN', says);
