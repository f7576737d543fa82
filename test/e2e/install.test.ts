/** The pages of docs/install, block by block, on whole clusters: nothing but docs and the folder of a release is at hand. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClusterVersion } from '@flotilla/api/config';
import { findProgram } from '@flotilla/control-plane/processes';
import {
  type Cluster,
  clusterObstacle,
  type Registry,
  startAlertmanager,
  startCluster,
  startOcmFleet,
  startPrometheus,
  startRegistry,
  startUpdateService,
} from '@flotilla/control-plane/servers';
import { RegistryClient } from '@flotilla/registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildRelease } from '../../tools/src/release/build-release.ts';
import { closeOtherWays, refusedPackets } from '../fixtures/closed-cluster.ts';
import { RELEASE_FOLDER, UserMachine } from '../fixtures/user-machine.ts';
import { readWorkloadImage } from '../fixtures/workload-image.ts';
import { pushEdgeRelease } from '../support/managed/edge-release.ts';
import { createReleaseSigner } from '../support/managed/release-signer.ts';
import { buildReleaseFixture } from '../support/release-fixture.ts';

const obstacle = clusterObstacle() ?? ((await findProgram('apt-get')) ? undefined : 'a release needs apt-get');
if (obstacle) console.log(`skipped: ${obstacle}`);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VERSION = '7.8.9';
/** This machine on every cluster's link: the registry's certificate is made before the clusters are. */
const GATEWAYS = Array.from({ length: 250 }, (_, index) => `10.79.${index + 1}.1`);
const say = (line: string): void => console.log(`  ${line}`);
const secondsSince = (start: number): string => `${((performance.now() - start) / 1000).toFixed(0)} s`;

let scratch: string;
let release: string;

/** Clusters that trust one registry, which has nothing in it. */
interface Sites {
  readonly registry: Registry;
  readonly clusters: readonly Cluster[];
  /** `host:port` of the registry for clusters and this machine. */
  readonly host: string;
  readonly client: RegistryClient;
  readonly machine: UserMachine;
  /** Values of the variables that every page has. */
  readonly values: Readonly<Record<'DIR' | 'VERSION' | 'REGISTRY' | 'REGISTRY_CA', string>>;
}

async function startSites(names: readonly [string, ...string[]], stack: AsyncDisposableStack): Promise<Sites> {
  const registry = stack.use(await startRegistry({ host: '0.0.0.0', tlsAddresses: GATEWAYS }));
  const ca = registry.certificateAuthority ?? expect.fail('no authority');
  const started = await Promise.allSettled(names.map((name) => startCluster({ name, trustedAuthorities: [ca] })));
  const clusters = started.flatMap((each) => (each.status === 'fulfilled' ? [stack.use(each.value)] : []));
  for (const each of started) if (each.status === 'rejected') throw each.reason;
  const machine = stack.use(await UserMachine.create(release));
  await writeFile(join(machine.dir, 'registry-ca.pem'), ca);
  const host = `${clusters[0]?.gatewayAddress}:${registry.port}`;
  const values = { DIR: RELEASE_FOLDER, VERSION, REGISTRY: `${host}/flotilla`, REGISTRY_CA: 'registry-ca.pem' };
  return { registry, clusters, host, client: stack.use(new RegistryClient({ ca })), machine, values };
}

/** Two versions of an application, in the registry. */
async function pushVersions({ client, host }: Sites): Promise<{ OLD: string; NEW: string }> {
  const { components } = await buildReleaseFixture({ client, pushHost: host, seed: 7, totalBytes: 6_000_000, components: 2 });
  const [old, next] = components.map(({ pullSpec }) => pullSpec);
  return { OLD: old ?? expect.fail('no image'), NEW: next ?? expect.fail('no second image') };
}

const kubeconfigOf = (cluster: Cluster | undefined): Promise<string> =>
  (cluster ?? expect.fail('no cluster')).kubeconfigFor('admin', 'wan');

describe.skipIf(obstacle !== undefined)('with docs and a release alone', { retry: 0 }, () => {
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'flotilla-install-'));
    release = join(scratch, 'release');
    const start = performance.now();
    const source = { version: VERSION, commit: '0'.repeat(40), committedAt: 1_767_323_045 };
    await buildRelease({ root: ROOT, output: release, source, registry: '', log: say });
    say(`release after ${secondsSince(start)}`);
  }, 900_000);
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  test('a hub for plain clusters upgrades one of them', async () => {
    await using stack = new AsyncDisposableStack();
    const sites = await startSites(['hub', 'spoke-1'], stack);
    const [hub, spoke] = sites.clusters;
    const versions = await pushVersions(sites);
    const start = performance.now();
    const values = { ...sites.values, ...versions, HUB: await kubeconfigOf(hub), SPOKE: await kubeconfigOf(spoke) };
    await sites.machine.follow('install/standalone.md', { values });
    say(`standalone, from the mirror to a finished upgrade: ${secondsSince(start)}`);
    expect(await readWorkloadImage(spoke)).toEqual({ image: versions.NEW, ready: true });
  });

  test('a hub without a way to the internet does, and nothing tries one', async () => {
    await using stack = new AsyncDisposableStack();
    const sites = await startSites(['hub', 'spoke-1'], stack);
    const [hub, spoke] = sites.clusters;
    const versions = await pushVersions(sites);
    for (const cluster of sites.clusters) await closeOtherWays(cluster);
    const refused = () => Promise.all(sites.clusters.map(refusedPackets));
    const before = await refused();
    expect(Math.min(...before)).toBeGreaterThan(0);
    const start = performance.now();
    const values = { ...sites.values, ...versions, HUB: await kubeconfigOf(hub), SPOKE: await kubeconfigOf(spoke) };
    await sites.machine.follow('install/air-gapped.md', { values });
    await sites.machine.follow('install/standalone.md', { values, continues: 'install/air-gapped.md', from: 'A first upgrade' });
    say(`air-gapped, from the mirror to a finished upgrade: ${secondsSince(start)}`);
    expect(await readWorkloadImage(spoke)).toEqual({ image: versions.NEW, ready: true });
    // Nobody has even tried.
    expect(await refused()).toEqual(before);
  });

  test('a hub with Open Cluster Management does, by a policy', async () => {
    await using stack = new AsyncDisposableStack();
    const sites = await startSites(['hub', 'spoke-1'], stack);
    const [hub, spoke] = sites.clusters;
    const versions = await pushVersions(sites);
    const siteOf = (cluster: Cluster | undefined) => {
      if (!cluster) throw new RangeError('no cluster');
      return { name: cluster.name, kubeconfig: cluster.kubeconfig, client: cluster.client() };
    };
    const dir = sites.machine.dir;
    stack.use(await startOcmFleet({ hub: siteOf(hub), spokes: [siteOf(spoke)], namespaces: ['upgrades'], dir }));
    const start = performance.now();
    const of = { CLUSTER: 'spoke-1', NAMESPACE: 'upgrades', TRANSPORT: 'work' };
    const values = { ...sites.values, ...versions, ...of, HUB: await kubeconfigOf(hub), SPOKE: await kubeconfigOf(spoke) };
    await sites.machine.follow('install/rhacm.md', { values });
    say(`Open Cluster Management, from the mirror to a finished upgrade: ${secondsSince(start)}`);
    expect(await readWorkloadImage(spoke)).toEqual({ image: versions.NEW, ready: true });
  });

  test('the operators alone upgrade their cluster', async () => {
    await using stack = new AsyncDisposableStack();
    const sites = await startSites(['cluster'], stack);
    const { client, host, machine } = sites;
    const [cluster = expect.fail('no cluster')] = sites.clusters;
    const signer = await createReleaseSigner();
    const push = (version: string) =>
      pushEdgeRelease(version, { client, pushHost: host, registryName: host, dir: machine.dir, signer, say });
    const [current, next] = [await push('4.20.1'), await push('4.20.2')];
    await writeFile(join(machine.dir, 'signature-1'), next.signature);
    const updates = stack.use(await startUpdateService({ host: '0.0.0.0' }));
    updates.setGraph({
      nodes: [current, next].map(({ version, pullSpec }) => ({ version, payload: pullSpec, metadata: {} })),
      edges: [[0, 1]],
    });
    const alertmanager = stack.use(await startAlertmanager({ on: cluster, port: 9093 }));
    const prometheus = stack.use(
      await startPrometheus({ on: cluster, port: 9090, alertmanager: `${cluster.address}:${alertmanager.port}` }),
    );
    const start = performance.now();
    await machine.follow('install/operators.md', {
      values: {
        ...sites.values,
        CLUSTER: await kubeconfigOf(cluster),
        CLUSTER_ID: '00000000-0000-4000-8000-000000000001',
        RELEASE: current.pullSpec,
        NEXT: next.pullSpec,
        NEXT_VERSION: next.version,
        SIGNATURE: 'signature-1',
        CHANNEL: 'stable-4.20',
        UPDATES: `http://${cluster.gatewayAddress}:${updates.port}/graph`,
        PROMETHEUS: prometheus.url,
        ALERTMANAGER: alertmanager.url,
      },
    });
    say(`operators alone, from the mirror to a finished upgrade: ${secondsSince(start)}`);
    const version = await cluster.client().get(ClusterVersion, { name: 'version' });
    expect(version?.status?.history?.[0]).toMatchObject({
      state: 'Completed',
      version: next.version,
      image: next.pullSpec,
      verified: true,
    });
  });
});
