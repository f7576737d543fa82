/** The version before, this one, and back: fifty upgrades in every state, of which none is lost, doubled or let through a gate. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { kstatus } from '@flotilla/api/testing';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unpackVersionBefore, versionBeforeObstacle } from '../../fixtures/version-before.ts';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { HubWorld, startSurroundings } from '../../integration/world.ts';
import { startHub } from '../../support/programs.ts';
import { auditWrites, HUB_USER, readRollout } from '../rollout/audited.ts';
import { clustersOf, type Flight, flightsOf, jobsOf, land, readUpgrade, stateOf, takeOff } from './in-flight.ts';

const obstacle = await versionBeforeObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

/** Upgrades of each kind; each goes on under another version. */
const EACH = 5;
const FLIGHTS = flightsOf(EACH);
const indexOf = ({ name }: Flight): number => Number(name.split('-').at(-1));
const SENTINEL = 'sentinel';

let dir: string;
let auditLog: string;
let world: HubWorld;
let before: string;
let looks = 0;

/** A hub of either version leads; `crds` says that it also brings its CRDs. */
async function lead(version: 'before' | 'this', { crds }: { readonly crds: boolean }): Promise<void> {
  await world.hub?.stop();
  const args = ['--precache-image', 'registry.test/image-puller:1', ...(crds ? ['--install-crds'] : [])];
  const kubeconfig = await world.server.kubeconfigFor(HUB_USER);
  world.hub = await startHub(kubeconfig, dir, args, {}, version === 'before' ? before : undefined);
  // It is at work: an upgrade that is made under it ends.
  looks += 1;
  const sentinel = { metadata: { name: `${SENTINEL}-${looks}`, namespace: 'default' } };
  await world.client.create(ClusterGroupUpgrade, {
    ...sentinel,
    spec: { clusters: [SENTINEL], manifestWorkTemplates: [SENTINEL], remediationStrategy: { maxConcurrency: 1, timeout: 60 } },
  });
  await world.untilCondition(sentinel.metadata.name, 'Succeeded', /^True/);
}

const statesOf = (flights: readonly Flight[]) => Promise.all(flights.map((flight) => stateOf(flight, world.client)));

/** Clusters that have got the work of an upgrade, each as often as it was made there, in their order. */
async function begunBy({ name, clusters }: Flight): Promise<string[]> {
  const { begun } = await readRollout(auditLog, { upgrade: name, steps: [name], sinceMs: 0 });
  return clusters
    .flatMap((cluster) => (begun.get(`${name} ${cluster}`) ?? []).map((revision) => ({ cluster, revision })))
    .toSorted((a, b) => a.revision - b.revision)
    .map(({ cluster }) => cluster);
}

describe.skipIf(obstacle !== undefined)('fifty upgrades in flight', { retry: 0 }, () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'flotilla-own-life-'));
    auditLog = join(dir, 'audit.log');
    before = await (await unpackVersionBefore(dir))('hub');
    const spokes = [...clustersOf(FLIGHTS), SENTINEL];
    const simulated = { work: { seconds: 0.2, jitter: 0 }, namespaceDeletionMs: 200 };
    const job = { seconds: 0.3, jitter: 0, startupMs: 100, progressMs: 500 };
    world = new HubWorld(await startSurroundings({ spokes, simulated, job, apiServer: auditWrites(auditLog), withoutHub: true }));
    await createTemplate(world.client, SENTINEL);
    await lead('before', { crds: true });
    await takeOff(FLIGHTS, world);
  });
  afterAll(async () => {
    await world?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  test.each([
    { name: 'an upgrade to this version', version: 'this', crds: true, lands: [0] },
    { name: 'a rollback of the program, under the new CRDs', version: 'before', crds: false, lands: [1] },
    { name: 'a rollback of the CRDs too', version: 'before', crds: true, lands: [2] },
    { name: 'an upgrade again', version: 'this', crds: true, lands: [3, 4] },
  ] as const)('$name leaves all where they are, and lets them go on', async ({ version, crds, lands }) => {
    const states = await statesOf(FLIGHTS);
    await lead(version, { crds });
    expect(await statesOf(FLIGHTS)).toEqual(states);
    const going = FLIGHTS.filter((flight) => lands.some((index) => index === indexOf(flight)));
    for (const flight of going) expect(await begunBy(flight), flight.name).toEqual(flight.clusters.slice(0, flight.of.begun));
    await land(going, world);
    const others = FLIGHTS.filter((flight) => !going.includes(flight));
    const kept = states.filter(({ name }) => others.some((flight) => flight.name === name));
    expect(await statesOf(others)).toEqual(kept);
  });

  test('each has done its work once, in its order, and has had one job', async () => {
    expect((await world.client.list(ClusterGroupUpgrade)).items.filter(({ metadata }) => !metadata.name.startsWith(SENTINEL))).toHaveLength(
      FLIGHTS.length,
    );
    for (const flight of FLIGHTS) {
      const isThrough = flight.of.end === 'Completed';
      expect(await begunBy(flight), flight.name).toEqual(isThrough ? [...flight.clusters] : []);
      const registered = flight.kind === 'refused' ? [] : flight.clusters;
      for (const cluster of registered) expect(world.spokes.jobsCreated(cluster), cluster).toHaveLength(jobsOf(flight));
      if (isThrough)
        expect((await readUpgrade(world.client, flight))?.status?.clusters?.map(({ name, state }) => `${name} ${state}`)).toEqual(
          flight.clusters.map((cluster) => `${cluster} complete`),
        );
    }
  });

  test('whichever version an upgrade ended under, a tool reads it as it is', async () => {
    const read = async (flight: Flight) => [flight.name, kstatus((await readUpgrade(world.client, flight)) ?? {})];
    const wanted = FLIGHTS.map(({ name, of }) => [name, of.end === 'Completed' ? 'Current' : 'Failed']);
    await eventually(async () => {
      expect(await Promise.all(FLIGHTS.map(read))).toEqual(wanted);
      return true;
    }, 'every upgrade to be read again');
  });
});
