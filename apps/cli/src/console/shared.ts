/** The console of several people, in the cluster: each looks with a token of their own. */
import { readFile } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import { type Client, createClient, systemClock } from '@flotilla/runtime';
import { z } from 'zod';
import { callersPath } from '../config.ts';
import { writeOut } from '../terminal/output.ts';
import { safeText } from '../terminal/safe-text.ts';
import { PROXY_HEADERS, sharedDoor } from './door.ts';
import type { View } from './rows/sources.ts';
import { openServer } from './server.ts';
import { openViewer } from './viewer.ts';
import { Viewers } from './viewers.ts';

const path = z.string().min(1, { error: 'is empty: give a path' });
const Origin = z.string().refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? '') && URL.parse(text)?.origin === text, {
  error: 'must be an address without a path, as in https://console.example.com',
});

/** Options of a console for several people; without `login` it is for one. */
export const SharedOptions = z.object({
  login: z.enum(['token', ...PROXY_HEADERS], { error: `must be token, ${PROXY_HEADERS.join(' or ')}` }).optional(),
  address: z.array(Origin).optional(),
  listen: z
    .string()
    .regex(/^[\w.:[\]-]+:\d{1,5}$/, { error: 'must be an address and a port, as in 0.0.0.0:8443' })
    .optional(),
  tlsCert: path.optional(),
  tlsKey: path.optional(),
  server: z.url({ error: 'must be the URL of the API server' }).optional(),
  certificateAuthority: path.optional(),
  viewers: z.coerce.number({ error: 'must be a number' }).int().min(1).max(1_000).optional(),
});

type Shared = z.output<typeof SharedOptions> & { readonly login: NonNullable<z.output<typeof SharedOptions>['login']> };

/** Where the service of the API server is, for pods. */
const IN_CLUSTER = 'https://kubernetes.default.svc';
const MOST_VIEWERS = 50;

/** Things that the command has prepared. */
interface Prepared {
  /** Folder of the page. */
  readonly page: string;
  readonly view: View;
  readonly signal: AbortSignal;
}

/** Serves until the signal aborts. The process has no credential of its own. */
export async function serveShared(options: Shared, { page, view, signal }: Prepared): Promise<void> {
  const { login, address, viewers: most = MOST_VIEWERS, listen = '127.0.0.1:8080' } = options;
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
async function connector({ server = IN_CLUSTER, certificateAuthority }: Shared): Promise<(token: string) => Client> {
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
