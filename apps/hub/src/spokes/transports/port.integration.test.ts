import { KubeObject } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { ManagedCluster, transportCrds } from '@flotilla/api/ocm';
import { ranCrds, SpokeName } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes, type SimulatedSpokes, startSimulatedSpokes } from '@flotilla/control-plane/simulators';
import { settled } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PortDriver, PortHub } from '../../../testing/port-case.ts';

const TRANSPORTS = ['actions', 'work'] as const;
const STORIES = [
  'plain',
  'failing',
  'late',
  'refused',
  'absent',
  'leaving',
  'robbed',
  'deleted',
  'edited',
  'dirty',
  'taken',
  'crossed',
  'unanswered',
] as const;
type Story = (typeof STORIES)[number];
const spokeOf = (story: Story, transport: string): string => `${story}-${transport}`;
const DENIED = 'admission webhook "deny.simulated.test" denied the request: injected fault';

let server: ApiServer;
let spokes: SimulatedSpokes;
let hub: PortHub;

beforeAll(async () => {
  server = await startApiServer();
  const client = await server.client();
  for (const crd of [...ranCrds(), ...transportCrds()])
    await client.apply(CustomResourceDefinition, KubeObject.parse(crd), { fieldManager: 'test' });
  const names = STORIES.flatMap((story) => TRANSPORTS.map((transport) => spokeOf(story, transport)));
  await registerSpokes(client, names);
  const faults = Object.fromEntries(
    TRANSPORTS.flatMap((transport) => [
      [spokeOf('failing', transport), { failJob: 1 }],
      [spokeOf('taken', transport), { failJob: 1 }],
      [spokeOf('crossed', transport), { failJob: 1 }],
      [spokeOf('late', transport), { deadlineJobSeconds: 1 }],
      [spokeOf('refused', transport), { failWork: DENIED, failActions: { 'precache-job-create': 100 } }],
      ...(['leaving', 'robbed', 'deleted', 'edited'] as const).map((story) => [spokeOf(story, transport), { jobsHeld: true }]),
    ]),
  );
  spokes = await startSimulatedSpokes({
    client,
    names,
    seed: 1,
    job: { seconds: 1, jitter: 0, startupMs: 300, progressMs: 300 },
    namespaceDeletionMs: 300,
    workCadence: { statusSyncMs: 500, resyncMs: 60_000 },
    faults,
  });
  hub = await PortHub.start(client);
});
afterAll(async () => {
  hub?.stop();
  await spokes?.stop();
  await server?.stop();
});

/** Objects on a spoke. */
const store = (cluster: string) => {
  const all = spokes.store(cluster);
  const served = (kind: string) => {
    const found = all.kinds.find((each) => each.kind === kind && (each.group === '' || each.group === 'batch'));
    if (!found) throw new Error(`spokes serve ${kind}`);
    return found;
  };
  const { namespace, job } = SpokeName;
  return {
    namespace: () => all.read(served('Namespace'), undefined, namespace),
    job: () => all.read(served('Job'), namespace, job),
    deleteJob: () => all.remove(served('Job'), namespace, job),
    /** Leaves a namespace with a Job that succeeded long ago. */
    leave: () => {
      all.put(served('Namespace'), undefined, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      const left = all.put(served('Job'), namespace, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: job, namespace } });
      all.setStatus(served('Job'), left.metadata, { succeeded: 1 });
    },
  };
};
const jobsOf = (cluster: string) => spokes.jobsCreated(cluster);
/** Waits for the namespace's end: the action is done when the removal has begun. */
const untilGone = (cluster: string) => settled(() => expect(store(cluster).namespace()).toBeUndefined(), { timeout: 10_000 });
/** Cuts the spoke's agent off, and waits until the hub knows. */
async function cutOff(cluster: string): Promise<void> {
  await hub.setAvailable(cluster, false);
  spokes.disconnect(cluster);
}
async function bringBack(cluster: string): Promise<void> {
  spokes.reconnect(cluster);
  await hub.setAvailable(cluster, true);
}
const namesOf = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name);

// Each story has one spoke and no retry, because events on a spoke cannot be undone.
describe.each(TRANSPORTS)('a spoke that is reached by %s', { retry: 0 }, (transport) => {
  const begin = (story: Story, name?: string) => new PortDriver(hub, spokeOf(story, transport), transport, name);

  test.concurrent('pulls, succeeds, and nothing is left of it on spoke and hub', async () => {
    const driver = begin('plain');
    const cluster = spokeOf('plain', transport);
    await driver.until('Succeeded');
    await driver.untilSo(async () => (await hub.objects(cluster)).length === 0, 'a clean hub');
    await untilGone(cluster);
    expect(jobsOf(cluster)).toHaveLength(1);
    expect(driver.states.filter((state) => state !== 'Starting' && state !== 'Active')).toEqual(['PreparingToStart', 'Succeeded']);
  });

  test.concurrent('fails: the verdict says why, the spoke keeps the job until the end', async () => {
    const driver = begin('failing');
    const cluster = spokeOf('failing', transport);
    await driver.until('UnrecoverableError');
    expect(driver.messages.at(-1)).toMatch(/^(images are missing|Job has reached the specified backoff limit)$/);
    await driver.step();
    expect(store(cluster).job()).toBeDefined();
    await driver.end();
    await untilGone(cluster);
    expect(await hub.objects(cluster)).toEqual([]);
    expect(jobsOf(cluster)).toHaveLength(1);
  });

  test.concurrent('takes too long: a time-out', async () => {
    const driver = begin('late');
    await driver.until('PrecacheTimeout');
    expect(driver.messages.at(-1)).toMatch(/^timed out: (images are missing|Job was active longer than specified deadline)$/);
    await driver.end();
    await untilGone(spokeOf('late', transport));
  });

  test.concurrent('refuses for good: said while it is tried, and then a failure', async () => {
    const driver = begin('refused');
    await driver.until('Starting');
    await driver.untilSo(() => {
      driver.ahead += 2_000;
      return driver.state === 'UnrecoverableError';
    }, 'a verdict');
    expect(driver.messages.filter((text) => text.includes(DENIED))).not.toEqual([]);
    expect(jobsOf(spokeOf('refused', transport))).toHaveLength(0);
    await driver.step();
    spokes.setFaults(spokeOf('refused', transport), {});
    await driver.end();
    expect(await hub.objects(spokeOf('refused', transport))).toEqual([]);
  });

  test.concurrent('is away from the start: nothing is there that would go off when it returns', async () => {
    const cluster = spokeOf('absent', transport);
    await cutOff(cluster);
    const driver = begin('absent');
    await driver.untilSo(
      () => driver.messages.some((text) => text.startsWith('the cluster is not available; pre-caching goes on when it is; see ')),
      'the message',
    );
    expect(namesOf(await hub.objects(cluster)).filter((name) => !name.startsWith('view-'))).toEqual([]);
    await bringBack(cluster);
    await driver.until('Succeeded');
    expect(jobsOf(cluster)).toHaveLength(1);
  });

  test.concurrent('leaves in mid-pull and returns: the same job counts', async () => {
    const cluster = spokeOf('leaving', transport);
    const driver = begin('leaving');
    await driver.until('Active');
    await cutOff(cluster);
    await driver.untilSo(
      () => driver.messages.some((said) => said.startsWith('the cluster is not available; last seen pulling; see kubectl')),
      'the message',
    );
    spokes.setFaults(cluster, {});
    await bringBack(cluster);
    await driver.until('Succeeded');
    expect(jobsOf(cluster)).toHaveLength(1);
  });

  test.concurrent('loses what the hub has of it in mid-pull: it ends well all the same', async () => {
    const cluster = spokeOf('robbed', transport);
    const driver = begin('robbed');
    await driver.until('Active');
    await hub.rob(cluster);
    await driver.untilSo(async () => (await hub.objects(cluster)).some(({ metadata }) => !metadata.deletionTimestamp), 'to begin anew');
    spokes.setFaults(cluster, {});
    await driver.until('Succeeded', 60_000);
    await driver.untilSo(async () => (await hub.objects(cluster)).length === 0, 'a clean hub');
    await untilGone(cluster);
    // A work removes its job.
    expect(jobsOf(cluster)).toHaveLength(transport === 'work' ? 2 : 1);
  });

  test.concurrent('has its job deleted by hand: a failure', async () => {
    const cluster = spokeOf('deleted', transport);
    const driver = begin('deleted');
    await driver.until('Active');
    // Conditions have times in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    store(cluster).deleteJob();
    await driver.until('UnrecoverableError');
    expect(driver.messages.at(-1)).toBe('job pre-cache was deleted from the cluster');
    expect(jobsOf(cluster)).toHaveLength(1);
    await driver.end();
    await untilGone(cluster);
  });

  test.concurrent('follows an edit of the spec in mid-pull: another job, and its verdict', async () => {
    const cluster = spokeOf('edited', transport);
    const driver = begin('edited');
    driver.images = ['registry.test/first:1'];
    await driver.until('Active');
    driver.images = ['registry.test/second:2'];
    await driver.until('PreparingToStart');
    spokes.setFaults(cluster, {});
    await driver.until('Succeeded', 60_000);
    const digests = jobsOf(cluster).map(({ annotations }) => annotations['flotilla.io/spec-digest']);
    expect(new Set(digests).size).toBe(2);
    expect(digests).toHaveLength(2);
  });

  test.concurrent("has the reference's namespace with a job that succeeded: it is removed, never believed", async () => {
    const cluster = spokeOf('dirty', transport);
    store(cluster).leave();
    const driver = begin('dirty');
    await driver.until('Succeeded', 60_000);
    expect(driver.messages).toContain('removing what an earlier attempt left on the cluster');
    const digests = jobsOf(cluster).map(({ annotations }) => annotations['flotilla.io/spec-digest']);
    expect(digests).toEqual([undefined, expect.any(String)]);
    await driver.untilSo(async () => (await hub.objects(cluster)).length === 0, 'a clean hub');
    await untilGone(cluster);
  });

  test.concurrent('is taken by the next upgrade after one that failed', async () => {
    const cluster = spokeOf('taken', transport);
    const first = begin('taken', `first-${transport}`);
    await first.until('UnrecoverableError');
    const second = begin('taken', `second-${transport}`);
    await second.until('Succeeded', 60_000);
    expect(second.messages).toContain('removing what an earlier attempt left on the cluster');
    expect(jobsOf(cluster)).toHaveLength(2);
    // The end of the first attempt finds none of its own objects.
    await first.end();
    await second.untilSo(async () => (await hub.objects(cluster)).length === 0, 'a clean hub');
  });

  test.concurrent('is reached by the other transport after an upgrade that failed', async () => {
    const cluster = spokeOf('crossed', transport);
    const first = begin('crossed', `before-${transport}`);
    await first.until('UnrecoverableError');
    const second = new PortDriver(hub, cluster, transport === 'work' ? 'actions' : 'work', `after-${transport}`);
    await second.until('Succeeded', 60_000);
    expect(second.messages).toContain('removing what an earlier attempt left on the cluster');
    expect(jobsOf(cluster)).toHaveLength(2);
    await first.end();
    await second.untilSo(async () => (await hub.objects(cluster)).length === 0, 'a clean hub');
    await untilGone(cluster);
  });
});

test('a work that nobody answers: it goes on by actions and views, says so, and the work is no more', async () => {
  const cluster = spokeOf('unanswered', 'work');
  const labels = { 'feature.open-cluster-management.io/addon-work-manager': 'available' };
  await hub.client.patch(ManagedCluster, { name: cluster }, { metadata: { labels } }, { type: 'merge' });
  await settled(() => expect(hub.caches.clusters.get({ name: cluster })?.metadata.labels).toMatchObject(labels));
  spokes.disconnect(cluster);
  const driver = new PortDriver(hub, cluster, 'auto');
  await driver.untilSo(async () => namesOf(await hub.objects(cluster)).includes('precache-work'), 'the work');
  driver.ahead = 61_000;
  await driver.untilSo(async () => namesOf(await hub.objects(cluster)).join() === 'view-precache-namespace', 'a view in place of it');
  expect(driver.messages.join('\n')).toContain('no work agent of the cluster has answered for 60 s; going on by actions and views');
  spokes.reconnect(cluster);
  await driver.until('Succeeded');
  expect(jobsOf(cluster)).toHaveLength(1);
});
