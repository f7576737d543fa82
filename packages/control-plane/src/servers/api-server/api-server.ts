import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, createClient } from '@flotilla/runtime';
import { ServerStartError } from '../../errors.ts';
import { registerStop } from '../../processes/exit-cleanup.ts';
import { freePorts } from '../../processes/free-port.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { createRunFolder, removeRunFolder } from '../../processes/run.ts';
import { type ServerProcess, startServerProcess } from '../../processes/server-process.ts';
import type { Log } from '../../toolchain/go-build.ts';
import { ensureTools, type Tools } from '../../toolchain/tools.ts';
import { ADMIN, type ApiUser, type Credential, createCredentials, renderKubeconfig, writeCredentials } from './credentials.ts';
import { apiServerFlags, etcdFlags } from './flags.ts';
import { probeHttps } from './https-probe.ts';

/** Options of an API server. */
export interface ApiServerOptions {
  /** Users besides `admin` (group `system:masters`); RBAC is on, so they may do nothing until bound. */
  readonly users?: readonly ApiUser[];
  /** File that gets the audit log, one JSON object a line. */
  readonly auditLogPath?: string;
  /** Audit policy; default: the metadata of every request, once per request, at its end. */
  readonly auditPolicy?: Readonly<Record<string, unknown>>;
  /** Further kube-apiserver flags, such as `--min-request-timeout=5`; later ones win. */
  readonly flags?: readonly string[];
  /** Address to listen on; default `127.0.0.1`. */
  readonly bindAddress?: string;
  /** CRDs that it serves from the start. */
  readonly crds?: readonly unknown[];
  /** A server of one's own, which can be restarted; default: one of the run's pool, where there is a pool (`useServerPool`) and nothing but CRDs is asked for. */
  readonly own?: boolean;
  /** Milliseconds until the start is given up; default 120 000. */
  readonly timeoutMs?: number;
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** etcd and kube-apiserver, without controllers and nodes. */
export interface ApiServer extends AsyncDisposable {
  /** `https://127.0.0.1:PORT` */
  readonly url: string;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  /** Path of a kubeconfig for a user of `options.users`; throws RangeError for another. */
  kubeconfigFor(user: string): Promise<string>;
  /** Folder with logs, keys and data; gone after `stop`. */
  readonly dir: string;
  /** A client as admin, or as one of the users; ended with the server. */
  client(user?: string): Promise<Client>;
  /** `http://127.0.0.1:PORT` */
  readonly etcdUrl: string;
  readonly etcdPid: number;
  readonly apiServerPid: number;
  /** Milliseconds the start took, tool builds not counted. */
  readonly startedInMs: number;
  /**
   * Ends kube-apiserver (with `etcd: true` etcd too) and starts it again: same URL, same data. With `forgets: true` there are writes before it
   * is back, as another server would make them, so that every version from before is too old to be watched (410).
   */
  restart(options?: { readonly etcd?: boolean; readonly forgets?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the two programs, in about 3 s. Throws ServerStartError with the end of the log, or ToolsUnavailableError. */
export async function startOwnApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const tools = await ensureTools(['etcd', 'kube-apiserver'], options.log && { log: options.log });
  // Between looking for a free port and listening on it another program may take it: then once more with other ports.
  for (let attempt = 1; ; attempt += 1) {
    const server = new ApiServerProcesses(options, tools, await createRunFolder('api'));
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      if (attempt === 3 || !(error instanceof ServerStartError && /address already in use/.test(error.message))) throw error;
    }
  }
}

class ApiServerProcesses implements ApiServer {
  url = '';
  kubeconfig = '';
  startedInMs = 0;
  etcdUrl = '';
  readonly dir: string;
  readonly #options: ApiServerOptions;
  readonly #tools: Tools;
  readonly #credentials: readonly Credential[];
  readonly #clients = new Set<Client>();
  readonly stop = registerStop(() => this.#end());
  #etcdFlags: string[] = [];
  #apiServerFlags: string[] = [];
  #etcd: ServerProcess | undefined;
  #apiServer: ServerProcess | undefined;

  constructor(options: ApiServerOptions, tools: Tools, dir: string) {
    this.#options = options;
    this.#tools = tools;
    this.dir = dir;
    this.#credentials = createCredentials(options.users ?? []);
  }

  get etcdPid(): number {
    return this.#etcd?.pid ?? 0;
  }

  get apiServerPid(): number {
    return this.#apiServer?.pid ?? 0;
  }

  async start(): Promise<void> {
    const start = performance.now();
    const host = this.#options.bindAddress ?? '127.0.0.1';
    const [etcdPort = 0, peerPort = 0, port = 0] = await freePorts(3);
    this.url = `https://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
    const files = await writeCredentials(this.dir, this.#credentials);
    const { auditLogPath, auditPolicy } = this.#options;
    const audit = auditLogPath ? { auditLogPath, auditPolicyFile: await this.#writeAuditPolicy(auditPolicy) } : {};
    this.etcdUrl = `http://127.0.0.1:${etcdPort}`;
    this.#etcdFlags = etcdFlags({ dataDir: join(this.dir, 'etcd'), clientPort: etcdPort, peerPort });
    this.#apiServerFlags = [
      ...apiServerFlags({ ...files, ...audit, etcdPort, port, bindAddress: host, certDir: join(this.dir, 'certificates') }),
      ...(this.#options.flags ?? []),
    ];
    await Promise.all([this.#startEtcd(), this.#startApiServer()]);
    await this.#waitUntilReady();
    this.kubeconfig = await this.kubeconfigFor(ADMIN);
    this.startedInMs = Math.round(performance.now() - start);
  }

  async kubeconfigFor(user: string): Promise<string> {
    const path = join(this.dir, `${user.replaceAll(/[^\w.-]/g, '_')}.kubeconfig`);
    await writeFile(
      path,
      renderKubeconfig({ server: this.url, ...this.#credential(user), certificateAuthority: await this.#readAuthority() }),
      {
        mode: 0o600,
      },
    );
    return path;
  }

  async client(user = ADMIN): Promise<Client> {
    const client = createClient({ kubeconfigPath: await this.kubeconfigFor(user) });
    this.#clients.add(client);
    return client;
  }

  async restart({ etcd = false, forgets = false }: { readonly etcd?: boolean; readonly forgets?: boolean } = {}): Promise<void> {
    await this.#apiServer?.stop();
    if (etcd) {
      await this.#etcd?.stop();
      await this.#startEtcd();
    }
    if (forgets) await this.#writeUnseen();
    await this.#startApiServer();
    await this.#waitUntilReady();
  }

  /** A server that has started can tell what came after its etcd's revision then, and the last write before. */
  async #writeUnseen(): Promise<void> {
    const body = JSON.stringify({ key: Buffer.from('unseen').toString('base64') });
    let writes = 0;
    await waitUntilReady({
      what: `etcd at ${this.etcdUrl}`,
      processes: [this.#etcd].filter((process) => process !== undefined),
      check: async () => {
        const answer = await fetch(`${this.etcdUrl}/v3/kv/put`, { method: 'POST', body, signal: AbortSignal.timeout(5_000) });
        await answer.arrayBuffer();
        return answer.ok && ++writes === 3;
      },
    });
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    this.#clients.clear();
    // No grace for kube-apiserver: it would hold open watches for a minute, and its data goes anyway.
    await this.#apiServer?.stop({ signal: 'SIGKILL' });
    await this.#etcd?.stop({ signal: 'SIGKILL' });
    await removeRunFolder(this.dir);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #startEtcd(): Promise<void> {
    this.#etcd = await startServerProcess({
      name: 'etcd',
      program: this.#tools.path('etcd'),
      args: this.#etcdFlags,
      logFile: join(this.dir, 'etcd.log'),
    });
  }

  async #startApiServer(): Promise<void> {
    this.#apiServer = await startServerProcess({
      name: 'kube-apiserver',
      program: this.#tools.path('kube-apiserver'),
      args: this.#apiServerFlags,
      logFile: join(this.dir, 'kube-apiserver.log'),
      cwd: this.dir,
    });
  }

  async #waitUntilReady(): Promise<void> {
    const { token } = this.#credential(ADMIN);
    await waitUntilReady({
      what: `kube-apiserver at ${this.url}/readyz`,
      processes: [this.#etcd, this.#apiServer].filter((process) => process !== undefined),
      check: async () => probeHttps(`${this.url}/readyz`, await this.#readAuthority(), token),
      ...(this.#options.timeoutMs && { timeoutMs: this.#options.timeoutMs }),
    });
  }

  /** The server signs its own certificate; the file holds its authority too. */
  #readAuthority(): Promise<string> {
    return readFile(join(this.dir, 'certificates', 'apiserver.crt'), 'utf8');
  }

  #credential(user: string): { user: string; token: string } {
    const found = this.#credentials.find(({ name }) => name === user);
    if (!found)
      throw new RangeError(`no user ${user}: give it in options.users; there are ${this.#credentials.map(({ name }) => name).join(', ')}`);
    return { user, token: found.token };
  }

  async #writeAuditPolicy(policy: Readonly<Record<string, unknown>> = { rules: [{ level: 'Metadata' }], omitStages: ['RequestReceived'] }) {
    const path = join(this.dir, 'audit-policy.json');
    await writeFile(path, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...policy }));
    return path;
  }
}
