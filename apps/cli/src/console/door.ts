/** Whom the console's server lets in, and with whose rights they look. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { FlotillaError } from '@flotilla/api';
import type { LoginWay } from '@flotilla/api/answers';
import type { Clock } from '@flotilla/pace';
import type { PROXY_HEADERS } from './options.ts';
import type { Viewer } from './viewer.ts';

/** Decides on each request that asks or changes something. */
export interface Door {
  /** The way by which a page gets its credential. */
  readonly login: LoginWay;
  /** Origins under which the page is opened. @param port on which the server listens */
  origins(port: number): readonly string[];
  /** The look of whoever asks. Throws `FLOTILLA_CONSOLE_LOGIN` for nobody that is known. */
  enter(headers: IncomingHttpHeaders): Promise<Viewer>;
  /** Somebody asks for a way in: whoever runs the command is told one, unless the one before is still good. */
  offer?(): void;
  /** Exchanges a code for a token. Throws `FLOTILLA_CONSOLE_LOGIN` for one that is not good. */
  exchange?(code: string): string;
}

/** A code is typed or clicked at once: what stays of it in the history of a browser or a terminal is worth nothing. */
const CODE_MS = 60_000;

interface OwnDoorOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Tells whoever runs the command a code. */
  readonly tell: (code: string) => void;
}

/** The door of one person on their own machine: whoever has the code that was told last, for as long as the page is open. */
export function ownDoor(viewer: Viewer, { clock, tell }: OwnDoorOptions): Door & Required<Pick<Door, 'offer' | 'exchange'>> {
  const token = secret();
  let told: { readonly code: string; readonly until: number } | undefined;
  const isGood = (): boolean => told !== undefined && clock.now() < told.until;
  return {
    login: 'address',
    origins: (port) => [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
    enter({ authorization = '' }) {
      if (isSame(authorization, `Bearer ${token}`)) return Promise.resolve(viewer);
      return Promise.reject(stranger('the token is missing or wrong: open the address that the command printed last'));
    },
    offer() {
      if (isGood()) return;
      told = { code: secret(), until: clock.now() + CODE_MS };
      tell(told.code);
    },
    exchange(code) {
      if (!told || !isGood() || !isSame(code, told.code))
        throw stranger('the code was used, is older than a minute, or is wrong: open the address that the command printed last');
      told = undefined;
      return token;
    },
  };
}

const secret = (): string => randomBytes(32).toString('base64url');

/** In the same time for all that have the same length. */
function isSame(said: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(said), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

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
