/** The secret of the printed address: in this tab's memory and session, in no address, no cookie and no log. */
import { call } from './call.ts';

const KEY = 'flotilla-token';
/** Tabs of the same address ask each other, so that a link may be opened in another one. */
const CHANNEL = 'flotilla-token';
/** Another tab answers at once or not at all. */
const ASK_MS = 300;
/** A server that does not answer refuses nothing. */
const CHECK_MS = 5_000;
/** The key of a printed address. */
const PRINTED = /^[\w-]{43}$/;
/** Also one of the API server, which somebody pasted: that one stays in memory. */
const TOKEN = /^[\w.~+/-]{8,12000}={0,2}$/;

/** Takes the token out of the address, else from before a reload, else from another tab; undefined where there is none. */
export async function findToken(): Promise<string | undefined> {
  const given = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined;
  if (given !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}`);
  const printed = given !== undefined && PRINTED.test(given) ? given : undefined;
  const token = printed ?? check(sessionStorage.getItem(KEY)) ?? (await unlessRefused(await askOthers()));
  if (token === undefined) return undefined;
  if (PRINTED.test(token)) sessionStorage.setItem(KEY, token);
  shareToken(token);
  return token;
}

/** Headers of every question. A proxy in front, which adds the token, answers who asks for JSON with a status in place of its page. */
export const credentialOf = (token: string): Readonly<Record<string, string>> =>
  token === '' ? { accept: 'application/json' } : { authorization: `Bearer ${token}` };

/** The server does not know it, or no more: it is that of an earlier run, or has run out. */
export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
  sharing?.close();
  sharing = undefined;
}

/** A tab that nobody has looked at since offers a token that has run out. */
async function unlessRefused(token: string | undefined): Promise<string | undefined> {
  if (token === undefined) return undefined;
  const asked = await call('/api/viewer', { headers: credentialOf(token) }, CHECK_MS).catch(() => undefined);
  return asked?.status === 401 ? undefined : token;
}

const check = (token: unknown): string | undefined => (typeof token === 'string' && TOKEN.test(token) ? token : undefined);

let sharing: BroadcastChannel | undefined;

/** Gives it to tabs of the same address that ask. */
export function shareToken(token: string): void {
  sharing?.close();
  const channel = new BroadcastChannel(CHANNEL);
  sharing = channel;
  channel.onmessage = ({ data }) => {
    if (data === 'ask') channel.postMessage(token);
  };
}

function askOthers(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(CHANNEL);
    const end = (token: string | undefined): void => {
      channel.close();
      resolve(token);
    };
    channel.onmessage = ({ data }) => {
      const token = check(data);
      if (token !== undefined) end(token);
    };
    channel.postMessage('ask');
    setTimeout(() => end(undefined), ASK_MS);
  });
}
