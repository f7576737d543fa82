/** How UpgradeConfigs come to spokes by real components of Open Cluster Management, and when a rollout calls their clusters done. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conditionTime } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { ConfigMap, Namespace } from '@flotilla/api/core';
import { managedCrds, OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { machineCrds } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import {
  clusterObstacle,
  type OcmSite,
  startAlertmanager,
  startApiServer,
  startOcmFleet,
  startPrometheus,
} from '@flotilla/control-plane/servers';
import { createSmallCluster, releaseImage, startClusterActors } from '@flotilla/control-plane/simulators';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyCrds } from '../../fixtures/crds.ts';
import { applyExamples } from '../../support/examples.ts';
import type { Site } from '../../support/fleet.ts';
import { UPGRADES, upgradeOf } from '../../support/ocm/gateway.ts';
import { startHub, startUpgradeOperator } from '../../support/programs.ts';
import { followRollout } from '../../support/rollout-progress.ts';

const CLUSTERS = ['spoke-1', 'spoke-2'];
const CHANNEL = 'stable-4.14';
const [BY_POLICY, BY_WORK] = ['4.14.12', '4.14.13'];
/** Longer than any component takes to look: a cluster that was called done before its time would be seen. */
const CONTROL_PLANE_MS = 8_000;
const CONFIGURATION = `configManager: {source: LOCAL, localConfigName: ${UPGRADE_CONFIG_NAME}}\nnodeDrain: {timeOut: 45}\n`;
const { signal } = new AbortController();

// Set-up builds the components where whole clusters run.
const obstacle = clusterObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

interface World extends AsyncDisposable {
  readonly hub: Site;
  readonly spokes: readonly OcmSite[];
}

interface Surroundings {
  readonly dir: string;
  readonly urls: readonly string[];
  /** Ends what is started. */
  readonly stack: AsyncDisposableStack;
}

async function startWorld(): Promise<World> {
  await using starting = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-managed-'));
  starting.defer(() => rm(dir, { recursive: true, force: true }));
  const site = async (name: string): Promise<OcmSite> => {
    const server = starting.use(await startApiServer());
    return { name, kubeconfig: server.kubeconfig, client: await server.client() };
  };
  const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
  const { kubeconfig, client } = await site('hub');
  const hub: Site = {
    name: 'hub',
    kubeconfig,
    client,
    kubectl: (args, options) => runCommand(kubectl, ['--kubeconfig', kubeconfig, ...args], { signal, ...options }),
  };
  const spokes = await Promise.all(CLUSTERS.map(site));
  starting.use(await startOcmFleet({ hub, spokes, namespaces: [UPGRADES], labels: { fleet: 'edge' }, dir }));
  starting.use(await startHub(kubeconfig, dir, ['--install-crds']));
  const [prometheus, alertmanager] = [starting.use(await startPrometheus()), starting.use(await startAlertmanager())];
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url];
  for (const spoke of spokes) await startManaged(spoke, { dir, urls, stack: starting });
  const running = starting.move();
  return { hub, spokes, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** A small cluster of the version before, with its upgrade operator. */
async function startManaged({ client, kubeconfig }: OcmSite, { dir, urls, stack }: Surroundings): Promise<void> {
  await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
  for (const name of [OPERATOR_NAMESPACE, 'openshift-config-managed']) await client.create(Namespace, { metadata: { name } });
  const { name, key } = OPERATOR_CONFIG_MAP;
  await client.create(ConfigMap, { metadata: { name, namespace: OPERATOR_NAMESPACE }, data: { [key]: CONFIGURATION } });
  await createSmallCluster(client);
  const pace = { controlPlaneMs: CONTROL_PLANE_MS };
  stack.use(await startClusterActors({ client, offers: { [CHANNEL]: [BY_POLICY, BY_WORK] }, pace }));
  stack.use(await startUpgradeOperator(kubeconfig, dir, [...urls, '--retry-seconds', '2']));
}

describe.skipIf(obstacle !== undefined)('beside Open Cluster Management, an UpgradeConfig', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const placeholders = (VERSION: string) => ({
    VERSION,
    CHANNEL,
    RELEASE_HASH: releaseImage(VERSION).split('sha256:')[1] ?? '',
    SIGNATURE: 'AA==',
    UPGRADE_AT: conditionTime(Date.now()),
  });
  async function rollOut(name: string, what: Readonly<Record<string, unknown>>) {
    await world.hub.client.create(ClusterGroupUpgrade, upgradeOf(name, CLUSTERS, what));
    const onNews = (news: string) => console.log(`  ${news}`);
    return followRollout(world.hub.client, { namespace: UPGRADES, name }, { onNews, withinMs: 150_000, signal });
  }
  const entryOf = async ({ client, name }: OcmSite, version: string) => {
    const config = await client.get(UpgradeConfig, { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME });
    return config?.status?.history?.find((one) => one.version === version) ?? expect.fail(`${name} has no upgrade to ${version}`);
  };
  /** All are through, and none had begun before the one ahead of it was. */
  async function expectOneAfterTheOther(version: string): Promise<void> {
    const entries = await Promise.all(world.spokes.map((spoke) => entryOf(spoke, version)));
    expect(entries.map(({ phase }) => phase)).toEqual(CLUSTERS.map(() => 'Upgraded'));
    const times = entries.flatMap(({ startTime, completeTime }) => [startTime, completeTime]).map((time) => Date.parse(time ?? ''));
    expect(times).not.toContain(Number.NaN);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  }
  const COMPLETE = { succeeded: true, clusters: { 'spoke-1': 'complete', 'spoke-2': 'complete' } };

  test('comes by a policy, which complies when its steps were walked: then the next cluster gets its own', async () => {
    await applyExamples(world.hub, ['fleet-upgrade/policy'], placeholders(BY_POLICY));
    expect(await rollOut('by-policy', { managedPolicies: ['release'] })).toMatchObject(COMPLETE);
    await expectOneAfterTheOther(BY_POLICY);
  });

  test('comes by a ManifestWork, whose agent reads the newest upgrade back: then the next cluster gets its own', async () => {
    await applyExamples(world.hub, ['fleet-upgrade/manifest-work-replica-set'], placeholders(BY_WORK));
    expect(await rollOut('by-work', { manifestWorkTemplates: ['release'] })).toMatchObject(COMPLETE);
    await expectOneAfterTheOther(BY_WORK);
  });
});
