/** A cluster with an operator in this process, for its integration tests. */

import { errorMessage, KubeObject, type Resource, untyped } from '@flotilla/api';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { eventually } from '@flotilla/pace/testing';
import type { PayloadFile } from '@flotilla/release';
import { buildReleaseHead, payloadFilesOf } from '@flotilla/release/testing';
import { type Client, createLogger, systemClock } from '@flotilla/runtime';
import { runVersionOperator, type VersionOperatorOptions } from '../src/operator.ts';

type Json = Readonly<Record<string, unknown>>;
const PROFILE = 'test';
const OWN = 'manifests/0000_00_own_00_namespace.json';

/** A release: its manifests by file, without the annotation that includes them. */
export interface TestRelease {
  readonly version: string;
  readonly files: Readonly<Record<string, readonly Json[]>>;
}

/** Name of a release's image. */
export const imageOf = ({ version }: TestRelease): string =>
  `release.test/openshift/release@sha256:${Buffer.from(version).toString('hex').padEnd(64, '0')}`;

const included = (object: Json): Json => {
  const { metadata, ...rest } = object;
  const { annotations, ...meta } = KubeObject.shape.metadata.parse(metadata);
  return { ...rest, metadata: { ...meta, annotations: { [`include.release.openshift.io/${PROFILE}`]: 'true', ...annotations } } };
};

/** A release as a payload's files. */
export function filesOf({ version, files }: TestRelease): PayloadFile[] {
  const manifests = Object.entries(files).map(([name, objects]) => [
    `release-manifests/${name}`,
    objects.map((object) => JSON.stringify(included(object))).join('\n'),
  ]);
  const own = included({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'openshift-cluster-version' } });
  return payloadFilesOf({ ...buildReleaseHead(version), [OWN]: own, ...Object.fromEntries(manifests) });
}

/** Options of an operator of a release that can fetch the others. */
export function optionsOf(client: Client, own: TestRelease, others: readonly TestRelease[]): VersionOperatorOptions {
  const filesIn = (releases: readonly TestRelease[], image: string) => {
    const release = releases.find((one) => imageOf(one) === image);
    if (!release) throw new Error(`no release ${image}`);
    return filesOf(release);
  };
  return {
    client,
    given: { image: () => imageOf(own), read: () => filesOf(own), isFolder: true },
    reopen: async (image) => filesIn([own, ...others], image),
    source: () => ({
      retrieve: async ({ image }) => ({ files: filesIn(others, image), verified: true, acceptedRisks: '' }),
      prefetch: async () => undefined,
    }),
    profile: PROFILE,
    alwaysEnabled: [],
    degradedBlocks: () => true,
    passEveryMs: 2_000,
    instance: 'test',
    logger: createLogger({ name: 'version-operator', level: 'silent' }),
    clock: systemClock,
  };
}

/** A running operator. */
export interface RunningOperator extends AsyncDisposable {
  /** It ended by itself, or was stopped. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** An API server, as far as a world needs it. */
interface Server {
  client(): Promise<Client>;
  restart(options: { readonly forgets: boolean }): Promise<void>;
  stop(): Promise<void>;
}

/** A cluster without nodes, what an installer leaves on it, and scripted operators. */
export class World implements AsyncDisposable {
  readonly server: Server;
  readonly client: Client;
  /** Ended before the server. */
  readonly #played: { stop(): Promise<void> }[] = [];

  constructor(server: Server, client: Client) {
    this.server = server;
    this.client = client;
  }

  /** Takes a fresh API server over, and has it serve these definitions. */
  static async start(server: Server, definitions: readonly object[] = configCrds()): Promise<World> {
    const world = new World(server, await server.client());
    for (const crd of definitions) await world.client.create(CustomResourceDefinition, KubeObject.parse(crd));
    for (const name of ['openshift-cluster-version']) await world.client.create(Namespace, KubeObject.parse({ metadata: { name } }));
    await world.until(
      async () =>
        (await world.created(ClusterVersion, {
          metadata: { name: 'version' },
          spec: { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' },
        })) && true,
    );
    return world;
  }

  async created(kind: Resource, object: Json): Promise<KubeObject | undefined> {
    return this.client.create<KubeObject>({ ...kind, schema: KubeObject }, KubeObject.parse(object)).catch(() => undefined);
  }

  /** Has something end with the world. */
  plays<T extends { stop(): Promise<void> }>(played: T): T {
    this.#played.push(played);
    return played;
  }

  /** Starts an operator of a release that can fetch the others. */
  run(
    own: TestRelease,
    others: readonly TestRelease[] = [],
    options: Partial<VersionOperatorOptions> = {},
    signal?: AbortSignal,
    runOperator = runVersionOperator,
  ): RunningOperator {
    const stopping = new AbortController();
    signal?.addEventListener('abort', () => stopping.abort(signal.reason));
    // a run that fails is told when the world ends, not before somebody looks
    const running = runOperator({ ...optionsOf(this.client, own, others), ...options }, stopping.signal);
    running.catch(() => undefined);
    const stop = async (): Promise<void> => {
      stopping.abort(new Error('stopped'));
      await running;
    };
    return { ended: running, stop, [Symbol.asyncDispose]: stop };
  }

  /** Sends the cluster to a release. */
  async ask(spec: Json): Promise<void> {
    await this.client.patch(ClusterVersion, { name: 'version' }, { spec }, { type: 'merge' });
  }

  version(): Promise<ClusterVersion | undefined> {
    return this.client.get(ClusterVersion, { name: 'version' });
  }

  /** `status reason: message` of a condition of the ClusterVersion. */
  async condition(type: string): Promise<string> {
    const found = (await this.version())?.status?.conditions?.find((one) => one.type === type);
    return found ? `${found.status} ${found.reason}: ${found.message}` : '';
  }

  /** Waits until the cluster runs a release. */
  async completed(release: TestRelease): Promise<ClusterVersion> {
    return this.until(async () => {
      const version = await this.version();
      const [newest] = version?.status?.history ?? [];
      return newest?.state === 'Completed' && newest.version === release.version && version;
    });
  }

  /** Asks until the answer says something. */
  async until<T>(ask: () => Promise<T | undefined | false>, timeoutMs = 40_000): Promise<T> {
    return eventually(ask, 'what the case waits for', timeoutMs).catch(async (cause: unknown) => {
      throw new Error(`${errorMessage(cause)}; ClusterVersion: ${JSON.stringify((await this.version())?.status)}`, { cause });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const played of this.#played) await played.stop();
    await this.server.stop();
  }
}

/** Kinds that tests look at. */
export const kinds = {
  configMap: untyped('v1', 'ConfigMap', 'configmaps'),
  namespace: untyped('v1', 'Namespace', 'namespaces', false),
  deployment: untyped('apps/v1', 'Deployment', 'deployments'),
  job: untyped('batch/v1', 'Job', 'jobs'),
  definition: untyped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false),
};

/** A namespace, an operator's Deployment and its ClusterOperator, at one level of a release. */
export function component(name: string, version: string, level = '20'): Readonly<Record<string, readonly Json[]>> {
  return {
    [`0000_${level}_${name}_00_namespace.json`]: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `openshift-${name}` } }],
    [`0000_${level}_${name}_10_deployment.json`]: [deployment(name, `${name}:${version}`)],
    [`0000_${level}_${name}_20_clusteroperator.json`]: [
      {
        apiVersion: 'config.openshift.io/v1',
        kind: 'ClusterOperator',
        metadata: { name },
        status: {
          versions: [{ name: 'operator', version }],
          relatedObjects: [{ group: '', resource: 'namespaces', name: `openshift-${name}` }],
        },
      },
    ],
  };
}

/** The Deployment of an operator, in its own namespace. */
export const deployment = (name: string, image: string): Json => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: `openshift-${name}` },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }] } },
  },
});

/** Script of a release for the fake operators, with one Deployment each. */
export const scriptOf = (version: string, names: readonly string[]) => ({
  version,
  operators: Object.fromEntries(
    names.map((name) => [
      name,
      {
        versions: [{ name: 'operator', version }],
        deployments: [{ namespace: `openshift-${name}`, name, image: `${name}:${version}` }],
      },
    ]),
  ),
});

/** A ConfigMap of a release. */
export const configMap = (name: string, data: Json, more: Json = {}, namespace = 'openshift-cluster-version'): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, ...more },
  data,
});
