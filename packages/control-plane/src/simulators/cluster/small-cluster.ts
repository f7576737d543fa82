import { conditionTime, type KubeObject } from '@flotilla/api';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { Namespace, Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { MACHINE_NAMESPACE, Machine, MachineConfigPool, MachineLabel, MachineSet } from '@flotilla/api/machine';
import type { Client } from '@flotilla/runtime';
import { createNode } from './nodes.ts';
import { renderedConfig } from './pool-actor.ts';
import { releaseImage } from './version-actor.ts';

/** Initial state of a simulated cluster. */
export interface SmallCluster {
  /** Its version. Default 4.14.9. */
  readonly version?: string;
  /** Default stable-4.14. */
  readonly channel?: string;
  /** Nodes with the role of a worker. Default 2; there is one more of the control plane, and one of infrastructure. */
  readonly workers?: number;
  /** Leave ClusterVersion and ClusterOperators to somebody else. Default false. */
  readonly withoutVersion?: boolean;
}

/** Writes the objects of a small cluster that is up to date and healthy; its kinds have to be installed. */
export async function createSmallCluster(client: Client, options: SmallCluster = {}): Promise<void> {
  const { version = '4.14.9', channel = 'stable-4.14', workers = 2, withoutVersion = false } = options;
  if (!(await client.get(Namespace, { name: MACHINE_NAMESPACE })))
    await client.create(Namespace, { metadata: { name: MACHINE_NAMESPACE } });
  if (!withoutVersion) {
    await createVersion(client, version, channel);
    for (const name of ['etcd', 'machine-config', 'network']) await createOperator(client, name, version);
  }
  for (const name of ['master', 'worker', 'infra']) await createPool(client, name, version);
  await createNode(client, 'master-0', { [MachineLabel.master]: '', [MachineLabel.controlPlane]: '' }, renderedConfig('master', version));
  await createNode(client, 'infra-0', { [MachineLabel.infra]: '' }, renderedConfig('infra', version));
  for (let index = 0; index < workers; index += 1)
    await createNode(client, `worker-${index}`, { [MachineLabel.worker]: '' }, renderedConfig('worker', version));
  await client.create(MachineSet, workerSet());
}

async function createVersion(client: Client, version: string, channel: string): Promise<void> {
  const { metadata } = await client.create(ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: '00000000-0000-4000-8000-000000000001', channel },
  });
  const image = releaseImage(version);
  const time = conditionTime(Date.now());
  const status = {
    desired: { version, image },
    observedGeneration: 1,
    versionHash: 'x',
    availableUpdates: [],
    history: [{ state: 'Completed', startedTime: time, completionTime: time, version, image, verified: false }],
  };
  await client.patch(ClusterVersion, { name: metadata.name }, { status }, { type: 'merge', subresource: 'status' });
}

async function createOperator(client: Client, name: string, version: string): Promise<void> {
  await client.create(ClusterOperator, { metadata: { name }, spec: {} });
  await reportOperator(client, name, {}, version);
}

/** Has a ClusterOperator say how it is; what is left out is well. */
export async function reportOperator(
  client: Client,
  name: string,
  { available = true, degraded = false }: { readonly available?: boolean; readonly degraded?: boolean } = {},
  version?: string,
): Promise<void> {
  const condition = (type: string, is: boolean) => ({
    type,
    status: is ? 'True' : 'False',
    reason: 'AsExpected',
    message: '',
    lastTransitionTime: conditionTime(Date.now()),
  });
  const conditions = [condition('Available', available), condition('Degraded', degraded), condition('Progressing', false)];
  const status = { conditions, ...(version !== undefined && { versions: [{ name: 'operator', version }] }) };
  await client.patch(ClusterOperator, { name }, { status }, { type: 'merge', subresource: 'status' });
}

async function createPool(client: Client, name: string, version: string): Promise<void> {
  const configuration = { name: renderedConfig(name, version) };
  await client.create(MachineConfigPool, { metadata: { name }, spec: { configuration } });
  await client.patch(MachineConfigPool, { name }, { status: { configuration } }, { type: 'merge', subresource: 'status' });
}

/** Its machines are those that are there: none of them is made anew. */
function workerSet(): KubeObject {
  const labels = { [MachineLabel.machineSet]: 'workers' };
  return {
    metadata: { name: 'workers', namespace: MACHINE_NAMESPACE, labels: { [MachineLabel.pool]: 'worker' } },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
  };
}

/** Removes what `createSmallCluster` wrote and what became of it, so that another one can begin. */
export async function clearCluster(client: Client): Promise<void> {
  for (const kind of [MachineSet, Machine, MachineConfigPool, ClusterOperator, ClusterVersion, Node, Pod, PodDisruptionBudget]) {
    const { items } = await client.list<KubeObject>(kind);
    for (const { metadata } of items)
      await client.delete(kind, { namespace: metadata.namespace, name: metadata.name }, { gracePeriodSeconds: 0 });
  }
}
