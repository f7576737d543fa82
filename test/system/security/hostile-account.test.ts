import { readFile } from 'node:fs/promises';
import { findCondition, type KubeObject } from '@flotilla/api';
import { Lease, ServiceAccount } from '@flotilla/api/core';
import {
  AGENT_ACCOUNT,
  AGENT_LEASE,
  HUB_ACCEPTED,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  WORK_FINALIZER,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createClient, requestToken } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { eachAttempt, PLATFORM, PULLER } from '../../integration/world.ts';
import { type ChartHub, startChartHub } from '../chart-hub.ts';
import { type HostileWrite, MARK, nextWrite } from './hostile-account.ts';

const EVIL = 'evil';
/** `HOSTILE_WRITES=500 HOSTILE_SEED=7` for a longer run, or for one that is seen again. */
const { writes: WRITES, seed: SEED = Math.floor(Math.random() * 1e9) } = readEnvironment().hostile;
/** What an administrator waits for at most. */
const PROMPT_MS = 10_000;

let world: ChartHub;
let admin: Client;
let kubeconfig: string;

eachAttempt(
  async () => {
    world = await startChartHub({ values: ['standalone=true', `precacheImage.repository=${PULLER}`] });
    admin = await world.server.client();
    kubeconfig = await readFile(world.server.kubeconfig, 'utf8');
    await world.startHub(['--standalone', '--precache-image', PULLER]);
    // Nobody renews their leases.
    for (const name of [EVIL, 'good'])
      await admin.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: true, leaseDurationSeconds: 86_400 } });
    await createTemplate(admin, 'template');
    const metadata = { name: 'config', namespace: 'default' };
    await admin.create(PreCachingConfig, { metadata, spec: { overrides: { platformImage: PLATFORM } } });
    // The hub itself keeps a job on the spoke in bad hands.
    const precaching = { preCaching: true, preCachingConfigRef: { name: 'config' }, enable: false, clusters: [EVIL] };
    await createUpgrade('asked', precaching);
  },
  async () => world?.[Symbol.asyncDispose](),
);

const createUpgrade = (name: string, spec: Record<string, unknown>) =>
  admin.create(ClusterGroupUpgrade, {
    metadata: { name, namespace: 'default' },
    spec: { remediationStrategy: { maxConcurrency: 1, timeout: 240 }, ...spec },
  });

const Kubeconfig = z.looseObject({ users: z.array(z.looseObject({ name: z.string() })) });
/** Lets the spoke in; what it returns connects with one new token of the agent's account. */
async function enter(): Promise<() => Client> {
  const account = { namespace: EVIL, name: AGENT_ACCOUNT };
  await eventually(async () => (await admin.get(ServiceAccount, account)) !== undefined, 'the hub to let the spoke in', 60_000);
  const read = Kubeconfig.parse(parse(kubeconfig));
  // The lease may be made after the account.
  await eventually(async () => (await admin.get(Lease, { namespace: EVIL, name: AGENT_LEASE })) !== undefined, 'its lease');
  const token = await requestToken(admin, account, 3600);
  const given = JSON.stringify({ ...read, users: read.users.map(({ name }) => ({ name, user: { token } })) });
  return () => createClient({ kubeconfig: given });
}

/** What there is to be written. */
async function bait(): Promise<void> {
  const metadata = { namespace: EVIL, name: 'bait' };
  const manifests = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } }];
  await admin.create(ManifestWork, { metadata: { ...metadata, finalizers: [WORK_FINALIZER] }, spec: { workload: { manifests } } });
  await admin.create(ManagedClusterAction, { metadata, spec: { actionType: 'Delete', kube: { resource: 'nodes', name: 'x' } } });
  await admin.create(ManagedClusterView, { metadata, spec: { scope: { resource: 'nodes', name: 'x' } } });
}

const send = (client: Client, { method, path, body, contentType }: HostileWrite): Promise<string> =>
  client.request(method, path, { ...(body !== undefined && { body }), ...(contentType !== undefined && { contentType }) }).then(
    () => 'taken',
    (error: unknown) => String(error),
  );
const isShutOut = (outcome: string) => /unauthorized|forbidden: User/i.test(outcome);

/** Milliseconds until it is so. */
async function timed(what: string | (() => string), ask: () => Promise<boolean>): Promise<number> {
  const began = performance.now();
  await eventually(ask, what, PROMPT_MS);
  return performance.now() - began;
}

async function deny(client: Client): Promise<number> {
  const account = { namespace: EVIL, name: AGENT_ACCOUNT };
  const began = performance.now();
  // Where there is no room for it, this is refused.
  await admin.patch(ManagedCluster, { name: EVIL }, { spec: { hubAcceptsClient: false } }, { type: 'merge' });
  await timed('the denial to be told and its account to go', async () => {
    const { status } = (await admin.get(ManagedCluster, { name: EVIL })) ?? {};
    const isTold = findCondition(status?.conditions, HUB_ACCEPTED)?.reason === 'HubClusterAdminDenied';
    return isTold && (await admin.get(ServiceAccount, account)) === undefined;
  });
  const path = `/apis/work.open-cluster-management.io/v1/namespaces/${EVIL}/manifestworks`;
  let outcome = '';
  const shutOut = async () => {
    outcome = await send(client, { what: 'its works', method: 'GET' as never, path });
    return isShutOut(outcome);
  };
  await timed(() => `its token to be refused, ${outcome}`, shutOut);
  return performance.now() - began;
}

/** What an agent of that name would be given, but for how servers keep their books. */
async function live(): Promise<string> {
  const list = async (kind: typeof ManifestWork | typeof ManagedClusterAction | typeof ManagedClusterView): Promise<KubeObject[]> =>
    (await admin.list<KubeObject>(kind, { namespace: EVIL })).items;
  const objects = (await Promise.all([ManifestWork, ManagedClusterAction, ManagedClusterView].map(list))).flat();
  const one = [await admin.get(ManagedCluster, { name: EVIL }), await admin.get(Lease, { namespace: EVIL, name: AGENT_LEASE })];
  return JSON.stringify([...objects, ...one].map((object) => ({ ...object, metadata: { ...object?.metadata, managedFields: [] } })));
}

test(`whatever its account writes, it is denied, others' upgrades end, and nothing of it is left: ${WRITES} writes of seed ${SEED}`, {
  timeout: 60_000 + WRITES * 15_000,
}, async () => {
  console.log(`hostile account: ${WRITES} writes of seed ${SEED}; HOSTILE_SEED=${SEED} HOSTILE_WRITES=${WRITES} has them again`);
  const random = createRandom(SEED);
  const counts = { taken: 0, refused: 0 };
  const longest = { denial: 0, deletion: 0 };
  let connect = await enter();
  for (let index = 0; index < WRITES; index += 1) {
    await bait();
    // A server ends the connection of who writes too much: whether the account is shut out is asked on another.
    const [client, probe] = [connect(), connect()];
    const ref = { namespace: 'default', name: `other-${index}` };
    const other = await createUpgrade(ref.name, { clusters: ['good'], manifestWorkTemplates: ['template'] });
    const labelSelector = `openshift-cluster-group-upgrades/clusterGroupUpgrade=${ref.name}`;
    const worksOf = async () => (await admin.list(ManifestWork, { namespace: 'good', labelSelector })).items;
    const works = await eventually(
      async () => ((await worksOf()).length > 0 ? worksOf() : undefined),
      'the work of the other upgrade',
      60_000,
    );
    const victim = works[0]?.metadata.labels ?? {};
    const write = nextWrite(EVIL, random, victim);
    const outcome = await send(client, write);
    counts[outcome === 'taken' ? 'taken' : 'refused'] += 1;
    const at = `write ${index} (${write.what}, ${outcome.slice(0, 300)})`;
    // Now and then it goes on while it is denied.
    const isStubborn = random() < 0.3;
    const again = isStubborn ? hammer(client, nextWrite(EVIL, random, victim)) : undefined;
    const denial = await deny(probe).catch((cause: unknown) => Promise.reject(new Error(`${at}: denial`, { cause })));
    await again;
    await admin.delete(ClusterGroupUpgrade, ref, { uid: other.metadata.uid });
    const isGone = async () => (await admin.get(ClusterGroupUpgrade, ref)) === undefined;
    const deletion = await timed(`${at}: the other upgrade to go`, isGone);
    longest.denial = Math.max(longest.denial, denial);
    longest.deletion = Math.max(longest.deletion, deletion);
    await Promise.all([client.close(), probe.close()]);
    await admin.patch(ManagedCluster, { name: EVIL }, { spec: { hubAcceptsClient: true } }, { type: 'merge' });
    connect = await enter();
    expect(await live(), at).not.toContain(MARK);
  }
  console.log(`hostile account: ${JSON.stringify({ ...counts, longestMs: longest })}`);
  expect(counts.taken).toBeGreaterThan(0);
  expect(counts.refused).toBeGreaterThan(0);
});

/** The same write until the account is shut out. */
async function hammer(client: Client, write: HostileWrite): Promise<void> {
  for (let count = 0; count < 200; count += 1) if (isShutOut(await send(client, write))) return;
}
