/** The secret that every question carries: in the memory of this tab, in no address, no storage, no cookie and no log. */
import { TokenAnswer } from '@flotilla/api/answers';
import { call } from './call.ts';

/** Tabs of the same address ask each other, so that a link may be opened in another one. */
const CHANNEL = 'flotilla-token';
/** Another tab answers at once or not at all. */
const ASK_MS = 300;
/** A server that does not answer refuses nothing. */
const CHECK_MS = 5_000;
const TOKEN = /^[\w.~+/-]{8,12000}={0,2}$/;

/** Exchanges the code of the address for a token, else asks another tab for its own; undefined where there is none. */
export async function findToken(): Promise<string | undefined> {
  const code = codeOf(location.hash);
  if (code !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}`);
  // One that is opened in a tab that is there changes what stands behind its # alone.
  addEventListener('hashchange', () => {
    if (codeOf(location.hash) !== undefined) location.reload();
  });
  const token = (await exchange(code)) ?? (await unlessRefused(await askOthers()));
  if (token !== undefined) shareToken(token);
  return token;
}

const codeOf = (hash: string): string | undefined => new URLSearchParams(hash.slice(1)).get('code') ?? undefined;

async function exchange(code: string | undefined): Promise<string | undefined> {
  if (code === undefined) return undefined;
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) };
  const asked = await call('/login', init, CHECK_MS).catch(() => undefined);
  return TokenAnswer.safeParse(asked?.answer).data?.token;
}

/** Headers of every question. A proxy in front, which adds the token, answers who asks for JSON with a status in place of its page. */
export const credentialOf = (token: string): Readonly<Record<string, string>> =>
  token === '' ? { accept: 'application/json' } : { authorization: `Bearer ${token}` };

/** The server does not know it, or no more: it is that of an earlier run, or has run out. */
export function forgetToken(): void {
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
