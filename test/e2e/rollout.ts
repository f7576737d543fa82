import { Annotation, conditionTime, type KubeObject, Label } from '@flotilla/api';
import { Pod } from '@flotilla/api/core';
import { ManifestWork } from '@flotilla/api/ocm';
import { parseRate } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type PrecacheFleet, seedOf } from '../fixtures/precache-fleet.ts';
import { AvailabilityProbe } from '../support/availability.ts';
import { applyExamples, EXAMPLE_UPGRADE, HUB_EXAMPLES, readExample } from '../support/examples.ts';
import type { SpokeSite } from '../support/fleet.ts';
import { NAMESPACE } from '../support/installation.ts';
import { distinctBytes, type ReleaseFixture } from '../support/release-fixture.ts';
import { followRollout, type RolloutEnd } from '../support/rollout-progress.ts';
import { followPrecaching } from '../support/upgrade-progress.ts';
import { imagePlaceholders, startWorkloads, WORKLOADS, workloadImages } from '../support/workloads.ts';

const RATE = '32mbit';
const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

/** Creations of ManifestWorks on the hub, as they were seen. */
interface Creation {
  readonly cluster: string;
  readonly at: number;
}

/** Kubernetes' times are whole seconds, cut off. */
const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** The whole story of `examples/rollout` on a fleet of two spokes with workers, which other tests may have used before. */
export function describeRollout(world: () => PrecacheFleet): void {
  describe('a rollout in a window', () => {
    test('waits for it, goes canary first, pulls nothing again, and outlives a killed worker', async (context) => {
      const { fleet, pushRelease } = world();
      const { hub, spokes } = fleet;
      const release = await pushRelease({ seed: seedOf(context, 4), totalBytes: 40_000_000, components: 6 });
      await deleteUpgrades(world());
      const images = await prepareSpokes(world(), release);
      await using works = watchWorks(world());

      await applyExamples(hub, HUB_EXAMPLES, placeholders(release, images, Date.now() + HOUR_MS));
      const names = spokes.map(({ name }) => name);
      const cached = await followPrecaching(hub.client, EXAMPLE_UPGRADE, { spokes: names, withinMs: 180_000, signal });
      expect(cached.map(({ state }) => state)).toEqual(['Succeeded', 'Succeeded']);
      const waits = 'jsonpath={.status.conditions[?(@.type=="Progressing")].reason}';
      const reason = () => hub.kubectl(['-n', EXAMPLE_UPGRADE.namespace, 'get', 'cgu', EXAMPLE_UPGRADE.name, '-o', waits]);
      await eventually(async () => (await reason()) === 'WaitingForWindow', 'the upgrade to wait for its window');
      expect(works.created).toEqual([]);
      const writes = await workerWrites(world());
      console.log(`  workers made ${writes} of the hub's writes so far`);
      expect(writes).toBeGreaterThan(0);

      const { length: since } = (await fleet.registry.served()).requests;
      const windowStart = wholeSeconds(Date.now()) + 4_000;
      const { namespace, name } = EXAMPLE_UPGRADE;
      await hub.kubectl([
        '-n',
        namespace,
        'annotate',
        'cgu',
        name,
        '--overwrite',
        `${Annotation.windowStart}=${conditionTime(windowStart)}`,
      ]);
      await using watched = new AsyncDisposableStack();
      const probes = spokes.map(({ client }) => watched.use(new AvailabilityProbe(client)));
      const [end, worker] = await Promise.all([follow(world(), name), killWorkerAtFirst(world(), works)]);
      expect(end).toMatchObject({ succeeded: true, clusters: { 'spoke-1': 'complete', 'spoke-2': 'complete' } });
      await Promise.all(probes.map((probe) => probe.untilRunning(images, { withinMs: 20_000, signal })));
      for (const [index, { seconds }] of probes.entries())
        console.log(`  ${names[index]}, pre-cached: not fully available for ${seconds.toFixed(1)} s`);
      await watched.disposeAsync();

      expect(works.created.map(({ cluster }) => cluster)).toEqual(['spoke-1', 'spoke-2']);
      expect(works.created[0]?.at).toBeGreaterThanOrEqual(windowStart);
      expect(await firstPodCreated(spokes[1])).toBeGreaterThanOrEqual(await lastPodReady(spokes[0]));
      const digests = new Set(
        [release.release, ...release.components].flatMap(({ digest, layers }) => [digest, ...layers.map((l) => l.digest)]),
      );
      const { byDigest } = await fleet.registry.served({ since });
      expect([...byDigest.keys()].filter((digest) => digests.has(digest))).toEqual([]);

      await hub.kubectl(['-n', NAMESPACE, 'rollout', 'status', 'deployment/flotilla-hub-worker', '--timeout=90s'], { timeoutMs: 100_000 });
      expect(await workerPods(world())).toHaveLength(2);
      expect(await workerPods(world())).not.toContain(worker);
    });

    test('takes as long as the link where nothing was pre-cached', async (context) => {
      const { fleet, pushRelease } = world();
      const spoke = fleet.spokes[1] ?? expect.fail('no spoke');
      await deleteUpgrades(world());
      const release = await pushRelease({ seed: seedOf(context, 5), totalBytes: 40_000_000, components: 6 });
      const images = workloadImages(release.components);
      const template = await readExample('rollout/manifest-work-replica-set', imagePlaceholders(images));
      await fleet.hub.kubectl(['apply', '-f', '-'], { input: template.replace('name: rollout', 'name: cold') });
      const { length: since } = (await fleet.registry.served()).requests;
      await using probe = new AvailabilityProbe(spoke.client);
      await fleet.hub.kubectl(['apply', '-f', '-'], { input: JSON.stringify(coldUpgrade(spoke.name)) });
      expect(await follow(world(), 'cold')).toMatchObject({ succeeded: true, clusters: { [spoke.name]: 'complete' } });
      await probe.untilRunning(images, { withinMs: 20_000, signal });
      const needed = distinctBytes(release.components.slice(0, 4));
      const bySeconds = (needed * 8) / parseRate(RATE);
      console.log(
        `  ${spoke.name}, not pre-cached: not fully available for ${probe.seconds.toFixed(1)} s (link: ${bySeconds.toFixed(1)} s)`,
      );
      expect((await fleet.registry.served({ since })).bytes).toBeGreaterThan(0.9 * needed);
      expect(probe.seconds).toBeGreaterThan(0.8 * bySeconds);
    });
  });
}

/** Nothing is left of an earlier attempt. */
const deleteUpgrades = ({ fleet }: PrecacheFleet): Promise<string> =>
  fleet.hub.kubectl(['-n', EXAMPLE_UPGRADE.namespace, 'delete', 'cgu', '--all', '--timeout=50s']);

/** The old version runs on every spoke, over shaped links; returns the images of the new one. */
async function prepareSpokes({ fleet, pushRelease }: PrecacheFleet, release: ReleaseFixture) {
  const old = await pushRelease({ seed: 98, totalBytes: 4_000_000, components: 4 });
  for (const spoke of fleet.spokes) await spoke.setRate(undefined);
  await Promise.all(fleet.spokes.map((spoke) => startWorkloads(spoke, workloadImages(old.components))));
  for (const spoke of fleet.spokes) await spoke.setRate(RATE);
  return workloadImages(release.components);
}

const placeholders = (release: ReleaseFixture, images: Readonly<Record<string, string>>, windowStart: number) => ({
  RELEASE_IMAGE: release.release.pullSpec,
  WINDOW_START: conditionTime(windowStart),
  ...imagePlaceholders(images),
});

/** No pre-caching, no window. */
const coldUpgrade = (cluster: string) => ({
  apiVersion: 'ran.openshift.io/v1alpha1',
  kind: 'ClusterGroupUpgrade',
  metadata: { name: 'cold', namespace: EXAMPLE_UPGRADE.namespace },
  spec: { clusters: [cluster], manifestWorkTemplates: ['cold'], remediationStrategy: { maxConcurrency: 1 } },
});

function follow({ fleet }: PrecacheFleet, name: string): Promise<RolloutEnd> {
  const start = performance.now();
  const onNews = (news: string) => console.log(`  ${((performance.now() - start) / 1000).toFixed(1)} s  ${news}`);
  return followRollout(fleet.hub.client, { ...EXAMPLE_UPGRADE, name }, { onNews, withinMs: 180_000, signal });
}

/** Remembers every ManifestWork that is created from now on. */
function watchWorks({ fleet }: PrecacheFleet) {
  const stop = new AbortController();
  const created: Creation[] = [];
  const first = Promise.withResolvers<void>();
  const cache = new WatchCache(fleet.hub.client, ManifestWork, { labelSelector: `${Label.work}=rollout` });
  cache.subscribe((change) => {
    if (change.type !== 'set' || change.previous) return;
    created.push({ cluster: change.object.metadata.namespace ?? '', at: Date.now() });
    first.resolve();
  });
  cache.start(stop.signal);
  return {
    created,
    /** Resolves when one is there. */
    first: first.promise,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await cache.stopped();
    },
  };
}

const WORKERS = ['-n', NAMESPACE, 'pods', '-l', 'app.kubernetes.io/name=flotilla-hub-worker'];

async function workerPods({ fleet }: PrecacheFleet): Promise<string[]> {
  return (await fleet.hub.kubectl(['get', ...WORKERS, '-o', 'name'])).split('\n').filter(Boolean);
}

/** Requests of the workers that changed something: they decide nothing, so these are steps. */
async function workerWrites(world: PrecacheFleet): Promise<number> {
  let writes = 0;
  for (const pod of await workerPods(world)) {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod.replace('pod/', '')}:8080/proxy/metrics`;
    const metrics = await world.fleet.hub.kubectl(['get', '--raw', path]);
    for (const [, verb = '', count] of metrics.matchAll(/^flotilla_api_requests_total\{verb="(\w+)".*\} (\d+)$/gm))
      if (!['get', 'list', 'watch'].includes(verb.toLowerCase())) writes += Number(count);
  }
  return writes;
}

/** Ends a worker without warning as soon as the canary's work is there; returns its pod's name. */
async function killWorkerAtFirst(world: PrecacheFleet, works: { readonly first: Promise<void> }): Promise<string> {
  await works.first;
  const [worker = expect.fail('no worker')] = await workerPods(world);
  await world.fleet.hub.kubectl(['-n', NAMESPACE, 'delete', worker, '--force', '--grace-period=0']);
  return worker;
}

const PodTimes = z.looseObject({
  metadata: z.looseObject({ creationTimestamp: z.string() }),
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), lastTransitionTime: z.string() })) }),
});

async function podsOf(spoke: SpokeSite | undefined): Promise<z.output<typeof PodTimes>[]> {
  const { items } = (await spoke?.client.list(Pod, { namespace: WORKLOADS })) ?? expect.fail('no spoke');
  expect(items).toHaveLength(4);
  return items.map((pod: KubeObject) => PodTimes.parse(pod));
}

const firstPodCreated = async (spoke: SpokeSite | undefined): Promise<number> =>
  Math.min(...(await podsOf(spoke)).map(({ metadata }) => Date.parse(metadata.creationTimestamp)));

const lastPodReady = async (spoke: SpokeSite | undefined): Promise<number> => {
  const pods = await podsOf(spoke);
  const ready = pods.map(({ status }) => status.conditions.find(({ type }) => type === 'Ready') ?? expect.fail('a pod is not ready'));
  return Math.max(...ready.map(({ lastTransitionTime }) => Date.parse(lastTransitionTime)));
};
