/** The blocks of docs/operations.md, run as they stand: a hub that is backed up goes on elsewhere, and charts go up and back. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Label } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes, startSimulatedSpokes } from '@flotilla/control-plane/simulators';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { RELEASE_FOLDER, UserMachine } from '../../fixtures/user-machine.ts';
import { HubWorld, PULLER, startSurroundings } from '../../integration/world.ts';
import { startHub } from '../../support/programs.ts';
import { CHARTS, HUB, NAMESPACE, SERVICE_ACCOUNT } from '../chart-hub.ts';
import { clustersOf, type Flight, flightsOf, land, stateOf, takeOff } from './in-flight.ts';

const [VERSION, NEXT] = ['1.2.3', '1.3.0'];
const PAGE = 'operations.md';
const REGISTRY = 'registry.example.com/flotilla';

let dir: string;
let machine: UserMachine;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-operations-'));
  const charts = join(dir, 'release/charts');
  await mkdir(charts, { recursive: true });
  const helm = (await ensureTools(['helm'])).path('helm');
  for (const version of [VERSION, NEXT])
    for (const chart of ['hub', 'spoke'])
      await runCommand(helm, ['package', join(CHARTS, chart), '--destination', charts, '--version', version, '--app-version', version]);
  machine = await UserMachine.create(join(dir, 'release'));
});
afterAll(async () => {
  await machine?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const valuesFor = (server: ApiServer, version = VERSION) => ({
  DIR: RELEASE_FOLDER,
  VERSION: version,
  REGISTRY,
  HUB: server.kubeconfig,
  SPOKE: server.kubeconfig,
});

const startServer = async (): Promise<ApiServer> => {
  const server = await startApiServer({ users: [{ name: HUB, groups: SERVICE_ACCOUNT }] });
  onTestFinished(() => server.stop());
  return server;
};

const SHAPE = { work: { seconds: 0.2, jitter: 0 }, namespaceDeletionMs: 200 };
const JOB = { seconds: 0.3, jitter: 0, startupMs: 100, progressMs: 500 };

/** Names of the works of rollouts, by upgrade. */
async function worksOf(client: Client): Promise<string[]> {
  const { items } = await client.list(ManifestWork, { labelSelector: Label.upgradeName });
  return items.map(({ metadata }) => `${metadata.namespace}/${metadata.labels?.[Label.upgradeName]}`);
}

describe('a hub in mid-upgrade', () => {
  /** Restored, it has to wait for nobody who is not there. */
  const flights = flightsOf(1);
  const statesIn = (client: Client) => Promise.all(flights.map((flight: Flight) => stateOf(flight, client)));

  test('goes on from its backup on an empty server', async () => {
    const world = new HubWorld(await startSurroundings({ spokes: clustersOf(flights), simulated: SHAPE, job: JOB, processes: true }));
    onTestFinished(() => world.stop());
    await world.startHub();
    await takeOff(flights, world);
    await world.hub?.stop();
    await machine.runBelow(PAGE, 'Back up', valuesFor(world.server));
    const states = await statesIn(world.client);

    const server = await startServer();
    const client = await server.client();
    await machine.runBelow(PAGE, 'Restore', valuesFor(server), 0);
    expect(await statesIn(client)).toEqual(states);
    const configs = (await client.list(PreCachingConfig)).items.map(({ metadata }) => metadata.name);
    expect(configs).toEqual(['config']);
    await machine.runBelow(PAGE, 'Restore', valuesFor(server), 1);

    // Its agents have joined, and find their clusters as they were: nothing runs there.
    await registerSpokes(client, clustersOf(flights));
    const spokes = await startSimulatedSpokes({ client, names: clustersOf(flights), seed: 1, job: JOB, ...SHAPE });
    onTestFinished(() => spokes.stop());
    for (const { clusters, of } of flights)
      for (const cluster of clusters.filter((each) => spokes.names.includes(each))) spokes.setFaults(cluster, of.faults ?? {});
    const hub = await startHub(await server.kubeconfigFor(HUB), dir, [
      '--namespace',
      NAMESPACE,
      '--standalone',
      '--precache-image',
      PULLER,
    ]);
    onTestFinished(() => hub.stop());
    await land(
      flights.filter(({ of }) => of.begun > 0 || of.end === 'Failed'),
      { client, spokes },
    );
    // What has not been let go has begun nothing meanwhile.
    const waiting = flights.filter(({ of }) => of.end === 'Completed' && of.begun === 0).map(({ name }) => name);
    expect((await worksOf(client)).filter((each) => waiting.some((name) => each.endsWith(`/${name}`)))).toEqual([]);
    await land(flights, { client, spokes });
    // Clusters that were registered anew pull again, once each, unless their upgrade has ended: nobody takes what was said of others for cached.
    for (const { kind, clusters } of flights)
      for (const cluster of clusters.filter((each) => spokes.names.includes(each)))
        expect(spokes.jobsCreated(cluster), cluster).toHaveLength(['precaches', 'cached'].includes(kind) ? 1 : 0);
    expect((await client.list(ClusterGroupUpgrade)).items).toHaveLength(flights.length);
  });
});

const Installed = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.tuple(
          [z.looseObject({ image: z.string(), env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })) })],
          z.unknown(),
        ),
      }),
    }),
  }),
});

test('a chart goes up with its values and back', async () => {
  const server = await startServer();
  const client = await server.client();
  const read = async (deployment: string) => {
    const found = await client.request('GET', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${deployment}`);
    const [{ image, env }] = Installed.parse(found).spec.template.spec.containers;
    return { image, env: new Map(env.map(({ name, value }) => [name, value])) };
  };
  await machine.runBelow(PAGE, 'Restore', valuesFor(server), 0).catch(async (error: unknown) => {
    // The files of a backup are another test's; the chart is installed by then.
    if (!(await client.request('GET', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/hub-flotilla-hub`))) throw error;
  });
  await client.request('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, { body: { metadata: { name: 'hub' } } });
  const helm = (await ensureTools(['helm'])).path('helm');
  const chart = join(dir, `release/charts/flotilla-spoke-${VERSION}.tgz`);
  const sets = ['clusterName=spoke-1', 'hub.kubeconfigSecret=hub', `imageRegistry=${REGISTRY}`].flatMap((value) => ['--set', value]);
  await runCommand(helm, ['install', 'flotilla-spoke', chart, '-n', NAMESPACE, '--kubeconfig', server.kubeconfig, ...sets], {
    env: { HOME: dir },
  });

  await machine.runBelow(PAGE, 'Upgrade', valuesFor(server, NEXT));
  expect((await read('hub-flotilla-hub')).image).toBe(`${REGISTRY}/hub:${NEXT}`);
  expect((await read('hub-flotilla-hub')).env.get('STANDALONE')).toBe('true');
  expect((await read('flotilla-spoke')).image).toBe(`${REGISTRY}/spoke-agent:${NEXT}`);
  expect((await read('flotilla-spoke')).env.get('CLUSTER_NAME')).toBe('spoke-1');
  await machine.runBelow(PAGE, 'Roll back', valuesFor(server));
  expect((await read('hub-flotilla-hub')).image).toBe(`${REGISTRY}/hub:${VERSION}`);
});

test('every block of the page is run here', async () => {
  const page = await readFile(join(machine.dir, 'docs', PAGE), 'utf8');
  const headings = [...page.matchAll(/^#+ (.*)$|^```sh$/gm)].map(([, heading]) => heading);
  const withBlocks = headings.flatMap((heading, index) =>
    heading !== undefined && headings[index + 1] === undefined && index + 1 < headings.length ? [heading] : [],
  );
  expect(withBlocks).toEqual(['Upgrade', 'Roll back', 'Back up', 'Restore']);
});
