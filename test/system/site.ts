import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect } from 'vitest';
import { blocksBelow } from '../fixtures/documented-blocks.ts';
import { writeProgram } from '../integration/cli/flotilla.ts';
import { PULLER } from '../integration/world.ts';
import { allObjects } from './all-objects.ts';
import { CHARTS, HUB, NAMESPACE, SERVICE_ACCOUNT } from './chart-hub.ts';
import { sets } from './chart-server.ts';

/** A cluster on which charts are installed, and how its user removes them. */
export class Site implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #env: Readonly<Record<string, string>>;
  readonly server: ApiServer;
  readonly admin: Client;
  readonly dir: string;
  /** Folder in which blocks run; default: that of the tests. */
  cwd: string | undefined;
  /** Variables that the reader of a page has set. */
  readonly variables: Record<string, string> = {};
  #before: ReadonlyMap<string, readonly string[]> = new Map();

  private constructor(server: ApiServer, admin: Client, dir: string, path: string) {
    this.#stack.defer(() => rm(dir, { recursive: true, force: true }));
    this.#stack.use(server);
    [this.server, this.admin, this.dir] = [server, admin, dir];
    this.#env = {
      PULLER,
      PATH: path,
      HUB: server.kubeconfig,
      KUBECONFIG: server.kubeconfig,
      HELM_CACHE_HOME: dir,
      HELM_CONFIG_HOME: dir,
      HELM_DATA_HOME: dir,
    };
  }

  /** @param controllers beside those that delete */
  static async start(crds: readonly unknown[], controllers: readonly string[] = []): Promise<Site> {
    const tools = await ensureTools(['helm', 'kubectl']);
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-site-'));
    await writeProgram(join(dir, 'bin'));
    const path = [join(dir, 'bin'), ...['helm', 'kubectl'].map((name) => dirname(tools.path(name as 'helm'))), '/usr/bin', '/bin'].join(
      ':',
    );
    const server = await startApiServer({ crds, users: [{ name: HUB, groups: SERVICE_ACCOUNT }] });
    const site = new Site(server, await server.client(), dir, path);
    const all = ['namespace-controller', 'garbage-collector-controller', ...controllers];
    site.#stack.use(await startControllerManager(server, { controllers: all }));
    return site;
  }

  /** Has something end with the site. */
  use<T extends { stop(): Promise<unknown> }>(what: T): T {
    this.#stack.defer(async () => void (await what.stop()));
    return what;
  }

  /** Installs a chart by its documented command, and notes first what is there. */
  async install(release: string, chart: 'hub' | 'spoke', values: readonly string[]): Promise<void> {
    await this.note();
    await this.#run(['helm install', release, join(CHARTS, chart), '-n', NAMESPACE, '--create-namespace', ...sets(values)].join(' '));
  }

  /** Packages a chart as a release has it, in a folder of its own that has folder `charts`. */
  async package(chart: 'hub' | 'spoke', version: string): Promise<string> {
    await this.#run(`helm package ${join(CHARTS, chart)} --version ${version} --destination ${join(this.dir, 'charts')}`);
    return this.dir;
  }

  /** Notes what is there. */
  async note(): Promise<void> {
    // The server makes it a moment after it is ready.
    await eventually(() => this.admin.request('GET', '/api/v1/namespaces/default/services/kubernetes'));
    this.#before = await allObjects(this.admin);
  }

  /** Runs the blocks below these headings of a page. */
  async follow(page: string, ...headings: readonly string[]): Promise<void> {
    for (const heading of headings) {
      for (const block of blocksBelow(page, heading)) await this.#run(block);
    }
  }

  /** Objects that have come and gone since `note`. */
  async difference(): Promise<{ left: string[]; lost: string[] }> {
    const now = await allObjects(this.admin);
    const left = [...now].filter(([name]) => !this.#before.has(name)).map(([name, finalizers]) => `${name} ${finalizers.join()}`.trim());
    return { left: left.toSorted(), lost: [...this.#before.keys()].filter((name) => !now.has(name)).toSorted() };
  }

  /** Waits until nothing is left of what was installed, and nothing else is lost: the server deletes some of it after its answer. */
  async untilAsBefore(): Promise<void> {
    let last: Awaited<ReturnType<Site['difference']>>;
    const isDone = async () => {
      last = await this.difference();
      return last.left.length === 0;
    };
    await eventually(isDone, () => `nothing to be left of ${last.left.join(', ')}`, 60_000);
    expect(await this.difference()).toEqual({ left: [], lost: [] });
  }

  #run(script: string): Promise<string> {
    return runCommand('/bin/sh', ['-e', '-c', script], { cwd: this.cwd, env: { ...this.#env, ...this.variables }, timeoutMs: 180_000 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}
