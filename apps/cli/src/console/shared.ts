/** The console of several people, in the cluster: each looks with a token of their own. */
import { readFile } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import { type Client, createClient, systemClock } from '@flotilla/runtime';
import { callersPath } from '../config.ts';
import { safeText, writeOut } from '../terminal/output.ts';
import { sharedDoor } from './door.ts';
import type { ConsoleOptions } from './options.ts';
import type { View } from './rows/sources.ts';
import { openServer } from './server.ts';
import { openViewer } from './viewer.ts';
import { Viewers } from './viewers.ts';

/** Options of a console for several people. */
type Shared = Pick<ConsoleOptions, 'address' | 'certificateAuthority' | 'listen' | 'server' | 'tlsCert' | 'tlsKey' | 'viewers'> & {
  readonly login: NonNullable<ConsoleOptions['login']>;
};

/** Things that the command has prepared. */
interface Prepared {
  /** Folder of the page. */
  readonly page: string;
  readonly view: View;
  readonly signal: AbortSignal;
}

/** Serves until the signal aborts. The process has no credential of its own. */
export async function serveShared(options: Shared, { page, view, signal }: Prepared): Promise<void> {
  const { login, address, viewers: most, listen } = options;
  const [first] = address ?? [];
  if (!address || first === undefined)
    throw new FlotillaError('FLOTILLA_CONFIG', '--address is missing: name where people open the page, as in https://console.example.com');
  const tls = tlsOf(options);
  const { host, port } = placeOf(listen);
  if (!tls && host !== '127.0.0.1' && host !== '::1')
    throw new FlotillaError(
      'FLOTILLA_CONFIG',
      `--listen ${listen} lets tokens cross the network in the clear: give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy in the same pod`,
    );
  const connectAs = await connector(options);
  const viewers = new Viewers({
    most,
    clock: systemClock,
    say: (line) => writeOut(`${safeText(line)}\n`),
    open: async (token, ended) => {
      const client = connectAs(token);
      ended.addEventListener('abort', () => void client.close(), { once: true });
      return openViewer(client, view, ended);
    },
  });
  viewers.start(signal);
  const proxyHeader = login === 'token' ? undefined : login;
  const door = sharedDoor({ origins: address, proxyHeader, viewers });
  await using server = await openServer({ page, door, listen: { host, port, tls } });
  writeOut(`Console for up to ${most} people at ${address.join(', ')}, listening on port ${server.port}\n`);
  await aborted(signal);
}

/** Resolves at the end. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

function tlsOf({ tlsCert, tlsKey }: Shared) {
  if (tlsCert !== undefined && tlsKey !== undefined) return { cert: callersPath(tlsCert), key: callersPath(tlsKey) };
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  throw new FlotillaError('FLOTILLA_CONFIG', '--tls-cert and --tls-key belong together: give both');
}

function placeOf(listen: string): { host: string; port: number } {
  const at = listen.lastIndexOf(':');
  return { host: listen.slice(0, at).replaceAll(/[[\]]/g, ''), port: Number(listen.slice(at + 1)) };
}

/** Makes clients that call with a token and nothing else. */
async function connector({ server, certificateAuthority }: Shared): Promise<(token: string) => Client> {
  const authority = certificateAuthority === undefined ? undefined : await readFile(callersPath(certificateAuthority));
  const cluster = { server, ...(authority && { 'certificate-authority-data': authority.toString('base64') }) };
  return (token) =>
    createClient({
      kubeconfig: JSON.stringify({
        clusters: [{ name: 'hub', cluster }],
        users: [{ name: 'viewer', user: { token } }],
        contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'viewer' } }],
        'current-context': 'hub',
      }),
      userAgent: 'flotilla-console',
      onInvalid: () => undefined,
    });
}
