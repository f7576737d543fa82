import { Annotation, conditionTime, type KubeObject } from '@flotilla/api';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { Pod } from '@flotilla/api/core';
import { OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { currentRun, leftovers } from '@flotilla/control-plane/processes';
import { clusterObstacle, type Served } from '@flotilla/control-plane/servers';
import { stepConditions, upgraders } from '@flotilla/upgrade';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type PrecacheFleet, startPrecacheFleet } from '../fixtures/precache-fleet.ts';
import { applyFleetUpgrade, FLEET_UPGRADE } from '../support/examples.ts';
import type { SpokeSite } from '../support/fleet.ts';
import { EDGE_NAMESPACE, EDGE_OPERATORS } from '../support/managed/edge-manifests.ts';
import { type ManagedFleet, startManagedFleet } from '../support/managed/managed-fleet.ts';
import { upgradeWithoutLink } from '../support/managed/spoke-upgrade.ts';
import { followRollout, type RolloutEnd } from '../support/rollout-progress.ts';
import { followPrecaching } from '../support/upgrade-progress.ts';

const obstacle = clusterObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const SPOKES = ['spoke-1', 'spoke-2'] as const;
const HOUR_MS = 3_600_000;
const { signal } = new AbortController();
const say = (line: string): void => console.log(line);

let world: PrecacheFleet;
let managed: ManagedFleet;
/** What was on the nodes, and what the spokes were asked for, when pre-caching had ended. */
let cached: Record<string, { images: string[]; isAsked: boolean }>;
let end: RolloutEnd;
/** What the registry served from then on. */
let served: Served;

const spoke = (name: string): SpokeSite => world.fleet.spokes.find((one) => one.name === name) ?? expect.fail(`no spoke ${name}`);
const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Applies the examples ahead of the window, and waits until everything is on the nodes. */
async function precache(): Promise<void> {
  const values = { ...managed.placeholders, WINDOW_START: conditionTime(Date.now() + HOUR_MS) };
  await applyFleetUpgrade(world.fleet.hub, values);
  const states = await followPrecaching(world.fleet.hub.client, FLEET_UPGRADE, { spokes: SPOKES, withinMs: 180_000, signal });
  expect(states.map(({ state }) => state)).toEqual(SPOKES.map(() => 'Succeeded'));
  cached = {};
  for (const name of SPOKES) {
    await managed.untilReadAhead(spoke(name));
    const images = await world.fleet.clusters.get(name)?.images();
    cached[name] = { images: (images ?? []).map((image) => image.name), isAsked: (await readUpgrade(name)) !== undefined };
  }
}

/** Opens the window; each spoke's link is cut while it upgrades. */
async function rollOut(): Promise<void> {
  const { hub, registry } = world.fleet;
  const { length: since } = (await registry.served()).requests;
  const start = performance.now();
  await using watched = new AsyncDisposableStack();
  const upgrades = SPOKES.map((name) => {
    const onNews = (news: string) => say(`${seconds(start).padStart(9)}  ${name}  ${news}`);
    return watched.use(upgradeWithoutLink(spoke(name), { version: managed.next.version, onNews }));
  });
  const { namespace, name } = FLEET_UPGRADE;
  const windowStart = `${Annotation.windowStart}=${conditionTime(Date.now())}`;
  await hub.kubectl(['-n', namespace, 'annotate', 'cgu', name, '--overwrite', windowStart]);
  const onNews = (news: string) => say(`${seconds(start).padStart(9)}  hub      ${news}`);
  const followed = followRollout(hub.client, FLEET_UPGRADE, { onNews, withinMs: 300_000, signal });
  // Whichever comes first counts.
  followed.catch(() => undefined);
  end = await Promise.race([followed, ...upgrades.map(({ broken }) => broken)]);
  served = await registry.served({ since });
}

const readUpgrade = (name: string) => spoke(name).client.get(UpgradeConfig, { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME });
const readEntry = async (name: string) => (await readUpgrade(name))?.status?.history?.[0] ?? expect.fail(`${name} has no upgrade`);
const readHistory = async (name: string) => (await spoke(name).client.get(ClusterVersion, { name: 'version' }))?.status?.history ?? [];

const PodState = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
  status: z.looseObject({ containerStatuses: z.array(z.looseObject({ imageID: z.string(), ready: z.boolean() })).default([]) }),
});
const Silences = z.array(z.looseObject({ comment: z.string(), status: z.looseObject({ state: z.string() }) }));

/** App and digest of every container that runs, by pod. */
const runningImage = (pod: KubeObject): string => {
  const { metadata, status } = PodState.parse(pod);
  return `${metadata.labels.app} ${status.containerStatuses.map(({ imageID, ready }) => `${ready} ${imageID.split('@')[1]}`).join()}`;
};

describe.skipIf(obstacle !== undefined)('clusters that upgrade themselves when the hub says so', () => {
  beforeAll(async () => {
    const start = performance.now();
    world = await startPrecacheFleet(SPOKES.length);
    const { fleet, images, registry: client } = world;
    say(`fleet with hub and agents up after ${seconds(start)}`);
    managed = await startManagedFleet({ fleet, images, client, say, signal });
    say(`spokes run from releases after ${seconds(start)}`);
    await precache();
    say(`pre-cached after ${seconds(start)}`);
    await rollOut();
    say(`rolled out after ${seconds(start)}`);
  }, 900_000);
  afterAll(async () => {
    await managed?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test('have every image of the release before they are asked to upgrade', () => {
    const wanted = [managed.next.pullSpec, ...Object.values(managed.next.images)];
    for (const name of SPOKES) expect(cached[name]).toEqual({ images: expect.arrayContaining(wanted), isAsked: false });
  });

  test('are all complete for the hub', async () => {
    expect(end).toMatchObject({ succeeded: true, clusters: Object.fromEntries(SPOKES.map((name) => [name, 'complete'])) });
    const { status } = (await world.fleet.hub.client.get(ClusterGroupUpgrade, FLEET_UPGRADE)) ?? expect.fail('no upgrade');
    expect(status?.remediationPlan).toEqual(SPOKES.map((name) => [name]));
  });

  test('pull nothing once their upgrade may begin', () => {
    expect([...served.byDigest.keys()]).toEqual([]);
  });

  test.each(SPOKES)('%s walks every step in order, and through the whole of its release in between', async (name) => {
    const entry = await readEntry(name);
    const { current, next } = managed;
    expect(entry).toMatchObject({ phase: 'Upgraded', version: next.version, precedingVersion: current.version });
    const steps = [...new Set(upgraders.OSD.steps.map((step) => stepConditions[step]))];
    const said = (entry.conditions ?? []).toReversed().filter(({ type }) => steps.some((step) => step === type));
    expect(said.map(({ type, status }) => `${type} ${status}`)).toEqual(steps.map((step) => `${step} True`));
    const [after, before] = await readHistory(name);
    expect([after, before]).toMatchObject([
      { state: 'Completed', version: next.version, image: next.pullSpec, verified: true },
      { state: 'Completed', version: current.version, image: current.pullSpec },
    ]);
    const times = [entry.startTime, after?.startedTime, after?.completionTime, entry.completeTime].map((time) => Date.parse(time ?? ''));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('go one after the other, the canary first', async () => {
    const [first, second] = SPOKES;
    const done = (await readEntry(first)).completeTime ?? expect.fail('the canary is not done');
    const asked = (await readUpgrade(second))?.metadata.creationTimestamp ?? expect.fail('nobody asked');
    expect(Date.parse(asked)).toBeGreaterThanOrEqual(Date.parse(done));
  });

  test.each(SPOKES)('%s runs the images of the new release alone, and its operators say so', async (name) => {
    const { client } = spoke(name);
    const { images, version } = managed.next;
    const digest = (image: string | undefined) => image?.split('@')[1] ?? '';
    const wanted = EDGE_OPERATORS.flatMap((app) => [
      `${app} true ${digest(images[app])}`,
      `${app}-operator true ${digest(images['edge-operator'])}`,
    ]);
    const { items } = await client.list(Pod, { namespace: EDGE_NAMESPACE });
    expect(
      items
        .filter(({ metadata }) => !metadata.deletionTimestamp)
        .map(runningImage)
        .toSorted(),
    ).toEqual(wanted.toSorted());
    const operators = (await client.list(ClusterOperator)).items;
    expect(operators.map(({ metadata, status }) => [metadata.name, ...(status?.versions ?? []).map((one) => one.version)])).toEqual(
      EDGE_OPERATORS.map((app) => [app, version, version]),
    );
  });

  test.each(SPOKES)('%s had its alerts silenced by its own Alertmanager, and has no silence left', async (name) => {
    const url = managed.monitoring.get(name)?.alertmanager.url;
    const answer = await fetch(`${url}/api/v2/silences`, { signal: AbortSignal.timeout(10_000) });
    const silences = Silences.parse(await answer.json());
    expect(silences.length).toBeGreaterThan(0);
    expect(silences.filter(({ status }) => status.state !== 'expired')).toEqual([]);
  });

  test('leave nothing on this machine', async () => {
    await managed[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
    // The folder of the story goes with this program.
    const wanted = { processes: [], mounts: [], links: [], namespaces: [], cgroups: [], folders: ['story'] };
    expect(await leftovers(await currentRun())).toEqual(wanted);
  });
});
