import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterOperator, ClusterVersion, configCrds } from '@flotilla/api/config';
import { Deployment, Node } from '@flotilla/api/core';
import { managedCrds, UpgradeConfig } from '@flotilla/api/managed';
import { machineCrds } from '@flotilla/api/testing';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { OperatorScript } from '@flotilla/control-plane/simulators';
import { expect, test } from 'vitest';
import { bootstrap } from '../../bench/payload/bootstrap.ts';
import { payloads } from '../../bench/payload/payload-run.ts';
import { applyCrds } from '../../fixtures/crds.ts';
import { type ClusterRelease, type ManagedClusterOptions, smallRelease, startManagedCluster, UPGRADE_CONFIG } from './managed-cluster.ts';

/** A release of real size, from the folder that the environment names. */
async function realRelease(dir: string, which: keyof typeof payloads): Promise<ClusterRelease> {
  const folder = join(dir, which);
  const script = OperatorScript.parse(JSON.parse(await readFile(join(folder, 'operators.json'), 'utf8')));
  return { ...payloads[which], folder, script };
}

/** From an UpgradeConfig to a cluster that has the next release, with the programs as their users start them. */
async function upgradeBy(options: Omit<ManagedClusterOptions, 'dir'>): Promise<void> {
  const [old, next] = options.releases;
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-chain-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const cluster = stack.use(await startManagedCluster({ ...options, dir }));
  const { client } = cluster;
  const upgradeAt = new Date(Date.now() - 1000).toISOString();
  const desired = { version: next.version, channel: options.channel };
  await client.create(UpgradeConfig, {
    metadata: UPGRADE_CONFIG,
    spec: { type: 'OSD', upgradeAt, PDBForceDrainTimeout: 60, desired, capacityReservation: true },
  });
  await cluster.followUpgrade();

  const entry = (await client.get(UpgradeConfig, UPGRADE_CONFIG))?.status?.history?.[0];
  expect(entry?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
  const { history } = (await client.get(ClusterVersion, { name: 'version' }))?.status ?? {};
  expect(history?.map(({ version, state }) => `${version} ${state}`)).toEqual([`${next.version} Completed`, `${old.version} Completed`]);
  for (const [operatorName, { versions, deployments }] of Object.entries(next.script.operators)) {
    const reported = await client.get(ClusterOperator, { name: operatorName });
    expect(reported?.status?.versions, operatorName).toEqual(versions);
    for (const { namespace, name: deployment, image } of deployments)
      expect(JSON.stringify((await client.get(Deployment, { namespace, name: deployment }))?.spec), deployment).toContain(image);
  }
  const { items } = await client.list(Node, { labelSelector: 'node-role.kubernetes.io/worker' });
  const configurations = items.map(({ metadata }) => metadata.annotations?.['machineconfiguration.openshift.io/currentConfig']);
  expect(new Set(configurations)).toEqual(new Set([`rendered-worker-${next.version}`]));
}

test('an UpgradeConfig has the version operator apply a release, and ends when all of the cluster has it', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-releases-'));
  try {
    await upgradeBy({
      releases: [await smallRelease(dir, '4.14.9'), await smallRelease(dir, '4.14.12')],
      channel: 'stable-4.14',
      patienceMs: 120_000,
      async prepare(client) {
        await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
        const spec = { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' };
        await client.create(ClusterVersion, { metadata: { name: 'version' }, spec });
      },
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test('the same with a release of real size', { timeout: 1_200_000 }, async ({ skip }) => {
  const { payloadsDir: dir } = readEnvironment();
  if (dir === undefined || !existsSync(join(dir, 'next', 'operators.json')))
    return skip('FLOTILLA_PAYLOADS names no folder with the payloads real and next, each with its operators.json');
  const releases = [await realRelease(dir, 'real'), await realRelease(dir, 'next')] as const;
  await upgradeBy({
    releases,
    channel: 'stable-4.22',
    patienceMs: 480_000,
    async prepare(client) {
      await bootstrap(client, { folders: releases.map(({ folder }) => folder) });
      await applyCrds(client, managedCrds());
    },
  });
});
