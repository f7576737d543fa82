import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { registerStop } from '../../processes/exit-cleanup.ts';
import { freePorts } from '../../processes/free-port.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { createRunFolder, removeRunFolder } from '../../processes/run.ts';
import { type ServerProcess, startServerProcess } from '../../processes/server-process.ts';
import type { Log } from '../../toolchain/go-build.ts';
import { ensureTools } from '../../toolchain/tools.ts';
import { createServerCertificate } from '../cluster/certificate.ts';
import { countServed, readAccessLog, type Served } from './access-log.ts';

/** The one login of a registry with `auth`. The hash is fixed, because making one needs bcrypt, which Node does not have. */
export const REGISTRY_LOGIN = { username: 'flotilla', password: 'precache-login' } as const;
const LOGIN_HASH = '$2y$05$flotillaflotillaflotievRSPEeVSaQtHp.rgC0R.NfFRZkJ4cIS';

/** Options of a registry. */
export interface RegistryOptions {
  /** Address to listen on; default `127.0.0.1`. `0.0.0.0` makes it reachable from clusters at their `gatewayAddress`. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Folder of the store, kept after `stop`; default: an own one, removed with it. */
  readonly dir?: string;
  /** Ask for REGISTRY_LOGIN (Basic); default false. */
  readonly auth?: boolean;
  /** Serve HTTPS with a self-signed certificate for `127.0.0.1` and these addresses and names; needs openssl. Default: plain HTTP. */
  readonly tlsAddresses?: readonly string[];
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** A real distribution registry. */
export interface Registry extends AsyncDisposable {
  /** As seen from this machine. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly logFile: string;
  /** PEM to trust, with `tlsAddresses`. */
  readonly certificateAuthority?: string;
  /** Counts what it has sent, by its own log; `since` leaves out so many first requests, `to` all that went to other addresses. */
  served(options?: { readonly since?: number; readonly to?: string }): Promise<Served>;
  stop(): Promise<void>;
}

/** Starts a registry in well under a second. It ends with this process. Throws ServerStartError or ToolsUnavailableError. */
export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
  const tools = await ensureTools(['registry'], options.log && { log: options.log });
  const host = options.host ?? '127.0.0.1';
  const port = options.port ?? (await freePorts(1, host))[0] ?? 0;
  const dir = await createRunFolder('registry');
  const local = host === '0.0.0.0' ? '127.0.0.1' : host;
  const certificate = options.tlsAddresses && (await createServerCertificate(dir, [local, ...options.tlsAddresses]));
  const logFile = join(dir, 'registry.log');
  const configFile = await writeConfig(dir, { ...options, host, port, certificate });
  const server = await startServerProcess({
    name: 'registry',
    program: tools.path('registry'),
    args: ['serve', configFile],
    logFile,
    env: { OTEL_TRACES_EXPORTER: 'none' },
  });
  const stop = registerStop(async () => {
    await server.stop({ graceMs: 1_000 });
    await removeRunFolder(dir);
  });
  const url = `${certificate ? 'https' : 'http'}://${local}:${port}`;
  try {
    await waitForListener(server);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    port,
    pid: server.pid,
    logFile,
    certificateAuthority: certificate?.pem,
    served: async ({ since = 0, to } = {}) =>
      countServed((await readAccessLog(logFile)).slice(since).filter((request) => to === undefined || request.to === to)),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Its log says when it listens; asking over HTTP would be counted as a request. */
async function waitForListener(server: ServerProcess): Promise<void> {
  const check = async () => (await readFile(server.logFile, 'utf8')).includes('listening on');
  await waitUntilReady({ what: 'registry', processes: [server], timeoutMs: 20_000, check });
}

type ConfigInput = RegistryOptions & {
  readonly host: string;
  readonly port: number;
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
};

async function writeConfig(dir: string, { host, port, auth, certificate, ...options }: ConfigInput): Promise<string> {
  const store = options.dir ?? join(dir, 'store');
  await mkdir(store, { recursive: true });
  const passwords = join(dir, 'htpasswd');
  await writeFile(passwords, `${REGISTRY_LOGIN.username}:${LOGIN_HASH}\n`, { mode: 0o600 });
  const config = {
    version: 0.1,
    log: { level: 'info', formatter: 'json', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: store }, delete: { enabled: true }, maintenance: { uploadpurging: { enabled: false } } },
    http: {
      addr: `${host}:${port}`,
      secret: 'one-server',
      ...(certificate && { tls: { certificate: certificate.certFile, key: certificate.keyFile } }),
    },
    ...(auth && { auth: { htpasswd: { realm: 'flotilla', path: passwords } } }),
  };
  const file = join(dir, 'config.yml');
  await writeFile(file, JSON.stringify(config));
  return file;
}
