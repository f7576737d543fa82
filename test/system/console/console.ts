/** `flotilla console` as a process, and what its server answers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { StreamMessage, TokenAnswer } from '@flotilla/api/answers';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { eventually } from '@flotilla/pace/testing';
import { createParser } from 'eventsource-parser';

const PRINTED = /http:\/\/\S+#code=\S+/;
const MAIN = join(import.meta.dirname, '../../../apps/cli/src/main.ts');

/** An answer over HTTP. */
interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** How something is asked; GET by default. */
export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A message of the stream, with its id. */
interface Received {
  readonly id: string | undefined;
  readonly message: StreamMessage;
}

/** A console that runs. */
interface RunningConsole extends AsyncDisposable {
  /** An address that was printed and is good once. @param path of the view that it opens; default the fleet */
  readonly address: (path?: string) => Promise<string>;
  /** Without the token. */
  readonly base: string;
  readonly token: string;
  /** Headers of whoever knows the token. */
  readonly known: Readonly<Record<string, string>>;
  /** Asks as a program would, with any header. */
  readonly ask: (path: string, options?: AskOptions) => Promise<Answered>;
  /** Messages of the stream, until one satisfies. */
  readonly read: (query: string, isLast: (message: StreamMessage) => boolean, after?: string) => Promise<Received[]>;
  /** Stops it as a sleeping machine would, or lets it go on. */
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
  /** Everything it has written. */
  readonly said: () => string;
  /** Ends it as Ctrl-C does; resolves with its exit code. */
  readonly end: () => Promise<number | null>;
}

interface StartOptions {
  readonly args?: readonly string[];
  /** Default: that of the sources. */
  readonly program?: string;
  readonly env?: Record<string, string>;
}

/** Starts the command against the server of a kubeconfig; resolves when it has printed its address. */
export async function startConsole(kubeconfig: string, options: StartOptions = {}): Promise<RunningConsole> {
  const { args = [], program = MAIN, env } = options;
  const child = spawn(process.execPath, [program, 'console', ...args], {
    env: childEnvironment({ KUBECONFIG: kubeconfig, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let said = '';
  const first = await new Promise<string>((resolve, reject) => {
    const listen = (text: string): void => {
      said += text;
      const [printed] = PRINTED.exec(said) ?? [];
      if (printed !== undefined && said.endsWith('\n')) resolve(printed);
    };
    child.stdout.setEncoding('utf8').on('data', listen);
    child.stderr.setEncoding('utf8').on('data', listen);
    child.once('exit', () => reject(new Error(`the console ended: ${said}`)));
  });
  const [base = '', code = ''] = first.split('/#code=');
  const exchanged = await ask(base, '/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  const { token } = TokenAnswer.parse(JSON.parse(exchanged.body));
  let handed = first;
  const address = async (path = '/'): Promise<string> => {
    await ask(base, '/login');
    const last = (): string =>
      said
        .trimEnd()
        .split('\n')
        .findLast((line) => PRINTED.test(line))
        ?.trim() ?? handed;
    await eventually(() => last() !== handed, 'another address to be printed');
    handed = last();
    return handed.replace('/#', `${path}#`);
  };
  const known = { authorization: `Bearer ${token}` };
  const end = async (): Promise<number | null> => {
    child.kill('SIGINT');
    const [code] = await exited;
    return typeof code === 'number' ? code : null;
  };
  return {
    address,
    base,
    token,
    known,
    ask: (path, options) => ask(base, path, options),
    read: (query, isLast, after) =>
      read(`${base}/api/stream${query}`, { ...known, ...(after !== undefined && { 'last-event-id': after }) }, isLast),
    signal: (name) => void child.kill(name),
    said: () => said,
    end,
    [Symbol.asyncDispose]: async () => void (await end()),
  };
}

/** A console for several people that runs. */
interface SharedConsole extends AsyncDisposable {
  readonly port: number;
  /** Asks as a program would, under the name that the page is opened by. */
  readonly ask: (path: string, options?: AskOptions) => Promise<Answered>;
  /** Messages of the stream of whoever has a token, until one satisfies. */
  readonly read: (token: string, isLast: (message: StreamMessage) => boolean) => Promise<Received[]>;
  readonly said: () => string;
}

/** Starts a console that has no credential of its own; resolves when it listens. @param address where its page is opened */
export async function startShared(address: string, args: readonly string[]): Promise<SharedConsole> {
  const child = spawn(process.execPath, [MAIN, 'console', '--address', address, ...args], {
    env: childEnvironment({ KUBECONFIG: '/nowhere' }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let said = '';
  const port = await new Promise<number>((resolve, reject) => {
    const listen = (text: string): void => {
      said += text;
      const [, printed] = /listening on port (\d+)\n/.exec(said) ?? [];
      if (printed !== undefined) resolve(Number(printed));
    };
    child.stdout.setEncoding('utf8').on('data', listen);
    child.stderr.setEncoding('utf8').on('data', listen);
    child.once('exit', () => reject(new Error(`the console ended: ${said}`)));
  });
  const base = `http://127.0.0.1:${port}`;
  const { host } = new URL(address);
  return {
    port,
    said: () => said,
    ask: (path, { headers, ...options } = {}) => ask(base, path, { headers: { host, ...headers }, ...options }),
    read: (token, isLast) => readAs(base, { host, authorization: `Bearer ${token}` }, isLast),
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT');
      await exited;
    },
  };
}

/** By Node's own client, as `ask`: with the Host that the page is opened by. */
function readAs(base: string, headers: Readonly<Record<string, string>>, isLast: (message: StreamMessage) => boolean): Promise<Received[]> {
  return new Promise((resolve, reject) => {
    const received: Received[] = [];
    const asking = request(`${base}/api/stream`, { headers, timeout: 30_000 }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`the stream answered ${response.statusCode}`));
      const onEvent = ({ id, data }: { readonly id?: string | undefined; readonly data: string }): void => {
        received.push({ id, message: StreamMessage.parse(JSON.parse(data)) });
      };
      const parser = createParser({ onEvent });
      response.setEncoding('utf8').on('data', (part: string) => {
        parser.feed(part);
        if (!received.some(({ message }) => isLast(message))) return;
        asking.destroy();
        resolve(received);
      });
    });
    asking.once('error', reject);
    asking.once('timeout', () => asking.destroy(new Error('no such message came')));
    asking.end();
  });
}

/** By Node's own client: `fetch` refuses to lie about Host. */
function ask(base: string, path: string, { method = 'GET', headers = {}, body }: AskOptions = {}): Promise<Answered> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const asking = request({ hostname, port, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    asking.once('error', reject);
    asking.end(body);
  });
}

async function read(url: string, headers: Record<string, string>, isLast: (message: StreamMessage) => boolean): Promise<Received[]> {
  const ending = new AbortController();
  const response = await fetch(url, { headers, signal: AbortSignal.any([ending.signal, AbortSignal.timeout(30_000)]) });
  if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
  const received: Received[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => received.push({ id, message: StreamMessage.parse(JSON.parse(data)) }) });
  const decoder = new TextDecoder();
  for await (const part of response.body) {
    parser.feed(decoder.decode(part, { stream: true }));
    if (received.some(({ message }) => isLast(message))) break;
  }
  ending.abort();
  return received;
}
