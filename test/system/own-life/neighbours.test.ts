/** One minor version apart, either way: a hub with the agent and the operators of its neighbour, from a pre-cache to a cluster of the next release. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { Job } from '@flotilla/api/core';
import { managedCrds, UpgradeConfig } from '@flotilla/api/managed';
import { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { machineCrds } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { AppName } from '../../../tools/src/images/apps.ts';
import { applyCrds } from '../../fixtures/crds.ts';
import { type ProgramsBefore, unpackVersionBefore, versionBeforeObstacle } from '../../fixtures/version-before.ts';
import { PLATFORM, PULLER } from '../../integration/world.ts';
import { readExample } from '../../support/examples.ts';
import { type RunningProgram, startHub, startProgram } from '../../support/programs.ts';
import {
  type ClusterRelease,
  type ManagedCluster,
  smallRelease,
  startManagedCluster,
  UPGRADE_CONFIG,
} from '../version-operator/managed-cluster.ts';

type Running = z.output<typeof Job.schema>;
/** Stands for the controllers and nodes that would run Jobs. */
interface JobEnds extends AsyncDisposable {
  /** Names of the Jobs that have succeeded, one for each. */
  names(): string[];
}

/** From now on every Job of a cluster succeeds as soon as it is there. */
function startJobEnds(client: Client): JobEnds {
  const ended = new Map<string, string>();
  const ending = new AbortController();
  const end = async ({ metadata: { uid = '', namespace, name, creationTimestamp: time } }: Running): Promise<void> => {
    if (ended.has(uid)) return;
    const condition = (type: string) => ({ type, status: 'True', reason: 'CompletionsReached', lastTransitionTime: time });
    const conditions = ['SuccessCriteriaMet', 'Complete'].map(condition);
    const status = { succeeded: 1, startTime: time, completionTime: time, conditions };
    await client.patch(Job, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
    ended.set(uid, name);
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const { items, resourceVersion } = await client.list(Job, { signal: ending.signal });
      for (const job of items) await end(job);
      for await (const event of client.watch(Job, { resourceVersion, signal: ending.signal }))
        if (event.type === 'ADDED') await end(event.object);
    }
  };
  const running = run().catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return {
    names: () => [...ended.values()],
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
    },
  };
}

const obstacle = await versionBeforeObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const SPOKE = 'spoke-1';
const NAMESPACE = 'fleet-upgrades';
const [OLD, NEXT] = ['4.14.9', '4.14.12'];
const CHANNEL = 'stable-4.14';
/** The machine may have other things to do. */
const PATIENCE_MS = 180_000;

let dir: string;
let programBefore: ProgramsBefore;
let releases: readonly [old: ClusterRelease, next: ClusterRelease];

/** A program of a version: a bundle, or the sources. */
const programOf = (version: Version, app: AppName) => (version === 'before' ? programBefore(app) : Promise.resolve(undefined));
type Version = 'before' | 'this';

/** Which version each program of a fleet is of. */
interface Fleet {
  readonly hub: Version;
  readonly spoke: Version;
}

const startAgent = (hub: ApiServer, spoke: ApiServer, program = 'apps/spoke-agent/src/main.ts'): Promise<RunningProgram> =>
  startProgram({
    name: 'spoke-agent',
    entry: program,
    args: ['--cluster-name', SPOKE, '--hub-kubeconfig', hub.kubeconfig, '--spoke-kubeconfig', spoke.kubeconfig, '--health-port', '0'],
    dir,
    env: { WORK_STATUS_SYNC_SECONDS: '1' },
    isReady: (output) => output.includes('Watching the hub'),
  });

/** The version operator that a release brings may be of either version. */
const startSpoke = async ({ spoke }: Fleet): Promise<ManagedCluster> =>
  startManagedCluster({
    releases,
    channel: CHANNEL,
    patienceMs: PATIENCE_MS,
    dir,
    programs: {
      upgradeOperator: await programOf(spoke, 'upgrade-operator'),
      versionOperators: [
        await programOf(spoke, 'version-operator'),
        await programOf(spoke === 'this' ? 'before' : 'this', 'version-operator'),
      ],
    },
    async prepare(client) {
      await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
      const spec = { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' };
      await client.create(ClusterVersion, { metadata: { name: 'version' }, spec });
    },
  });

async function applyTemplate(hub: ApiServer): Promise<void> {
  const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
  const values = { VERSION: NEXT, CHANNEL, UPGRADE_AT: new Date(Date.now() - 1000).toISOString() };
  for (const file of ['namespace', 'manifest-work-replica-set'])
    await runCommand(kubectl, ['--kubeconfig', hub.kubeconfig, 'apply', '-f', '-'], {
      input: await readExample(`fleet-upgrade/${file}`, values),
    });
}

const upgradeNamed = (name: string, manifestWorkTemplates: readonly string[]) => ({
  metadata: { name, namespace: NAMESPACE },
  spec: {
    clusters: [SPOKE],
    enable: true,
    preCaching: true,
    preCachingConfigRef: { name: 'config', namespace: NAMESPACE },
    manifestWorkTemplates: [...manifestWorkTemplates],
    remediationStrategy: { maxConcurrency: 1, timeout: 60 },
  },
});

/** Waits until an upgrade has ended; how its clusters did. */
async function untilEnded(client: Client, name: string): Promise<string[]> {
  let last: ClusterGroupUpgrade | undefined;
  const hasEnded = async () => {
    last = await client.get(ClusterGroupUpgrade, { namespace: NAMESPACE, name });
    return last?.status?.status.completedAt !== undefined;
  };
  await eventually(hasEnded, () => `${name} to end: ${JSON.stringify(last?.status)}`, PATIENCE_MS);
  return (last?.status?.clusters ?? []).map(({ name: cluster, state }) => `${cluster} ${state}`);
}

const leftOnHub = async (client: Client): Promise<string[]> => {
  const kinds = [ManagedClusterAction, ManagedClusterView, ManifestWork];
  const lists = await Promise.all(kinds.map((kind) => client.list(kind, { namespace: SPOKE })));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
};

describe.skipIf(obstacle !== undefined)('one minor version apart', () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'flotilla-neighbours-'));
    programBefore = await unpackVersionBefore(dir);
    releases = [await smallRelease(dir, OLD), await smallRelease(dir, NEXT)];
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  test.each<Fleet & { readonly name: string }>([
    { name: 'this hub, with agent and operators of the version before', hub: 'this', spoke: 'before' },
    { name: 'the hub of the version before, with agent and operators of this one', hub: 'before', spoke: 'this' },
  ])('$name: images are cached by either transport, and the cluster is upgraded', { timeout: 480_000 }, async (fleet) => {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await startApiServer());
    const client = await server.client();
    const hubProgram = await programOf(fleet.hub, 'hub');
    const lead = (...args: string[]) =>
      startHub(server.kubeconfig, dir, ['--install-crds', '--standalone', '--precache-image', PULLER, ...args], {}, hubProgram);
    const first = await lead();
    stack.defer(async () => first.stop());
    await registerSpokes(client, [SPOKE], { available: false });
    const spoke = stack.use(await startSpoke(fleet));
    stack.use(await startControllerManager(spoke.server));
    const jobs = stack.use(startJobEnds(spoke.client));
    stack.use(await startAgent(server, spoke.server, await programOf(fleet.spoke, 'spoke-agent')));

    await applyTemplate(server);
    const config = { metadata: { name: 'config', namespace: NAMESPACE }, spec: { overrides: { platformImage: PLATFORM } } };
    await client.create(PreCachingConfig, config);
    await client.create(ClusterGroupUpgrade, upgradeNamed('upgrade', ['release']));
    await spoke.followUpgrade();
    expect(await untilEnded(client, 'upgrade')).toEqual([`${SPOKE} complete`]);
    expect(jobs.names()).toEqual(['pre-cache']);

    const { history } = (await spoke.client.get(ClusterVersion, { name: 'version' }))?.status ?? {};
    expect(history?.map(({ version, state }) => `${version} ${state}`)).toEqual([`${NEXT} Completed`, `${OLD} Completed`]);
    const [entry] = (await spoke.client.get(UpgradeConfig, UPGRADE_CONFIG))?.status?.history ?? [];
    expect(entry?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);

    await first.stop();
    stack.use(await lead('--transport', 'actions'));
    await client.create(ClusterGroupUpgrade, upgradeNamed('again', []));
    expect(await untilEnded(client, 'again')).toEqual([`${SPOKE} complete`]);
    expect(jobs.names()).toEqual(['pre-cache', 'pre-cache']);
    await eventually(async () => (await leftOnHub(client)).length === 0, 'the hub to be clean', PATIENCE_MS);
    await eventually(async () => (await spoke.client.list(Job)).items.length === 0, 'the job to be gone', PATIENCE_MS);
  });
});
