import { Node } from '@flotilla/api/core';
import { MACHINE_NAMESPACE, Machine, MachineLabel, MachineSet } from '@flotilla/api/machine';
import { isAlreadyExists, type ReconcileResult } from '@flotilla/runtime';
import type { ActorDeps } from './actor.ts';
import { cordon, createNode, drain, unlessGone } from './nodes.ts';

const nameOf = (key: string): string => key.slice(key.indexOf('/') + 1);
const setOf = (machine: Machine): string => machine.metadata.labels?.[MachineLabel.machineSet] ?? '';

/** Plays the controller of MachineSets: as many Machines as are asked for, and how many of them are ready. */
export async function playMachineSet({ client, caches }: ActorDeps, key: string): Promise<ReconcileResult> {
  const name = nameOf(key);
  const set = caches.sets.get({ namespace: MACHINE_NAMESPACE, name });
  if (!set) return {};
  const machines = caches.machines.list().filter((machine) => setOf(machine) === name);
  const wanted = set.spec.replicas ?? 0;
  for (let index = machines.length; index < wanted; index += 1) {
    const metadata = { name: `${name}-${index}`, namespace: MACHINE_NAMESPACE, labels: { ...set.spec.template?.metadata?.labels } };
    await client.create(Machine, { metadata, spec: {} }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  const ready = machines.filter(({ status }) => status?.phase === 'Running').length;
  const { replicas, readyReplicas } = set.status ?? {};
  if (replicas !== machines.length || readyReplicas !== ready) {
    const status = { replicas: machines.length, readyReplicas: ready };
    await client
      .patch(MachineSet, { namespace: MACHINE_NAMESPACE, name }, { status }, { type: 'merge', subresource: 'status' })
      .catch(unlessGone);
  }
  return {};
}

/** Plays the controller of Machines: each becomes a Node after a while, and goes, drained, when its set has gone. */
export async function playMachine(deps: ActorDeps, key: string): Promise<ReconcileResult> {
  const { client, caches, clock, pace } = deps;
  const ref = { namespace: MACHINE_NAMESPACE, name: nameOf(key) };
  const machine = caches.machines.get(ref);
  if (!machine) return {};
  const isWanted = caches.sets.get({ namespace: MACHINE_NAMESPACE, name: setOf(machine) }) !== undefined;
  const report = (status: Record<string, unknown>) => client.patch(Machine, ref, { status }, { type: 'merge', subresource: 'status' });
  if (!isWanted) return remove(deps, machine);
  if (machine.status?.phase !== undefined) return {};
  const age = clock.now() - Date.parse(machine.metadata.creationTimestamp ?? '');
  if (age < pace.machineMs) return { requeueAfterMs: pace.lookAgainMs };
  const config = caches.pools.get({ name: 'worker' })?.spec?.configuration?.name ?? '';
  await createNode(client, ref.name, { [MachineLabel.worker]: '' }, config).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  await report({ phase: 'Running', nodeRef: { kind: 'Node', name: ref.name } });
  return {};
}

async function remove({ client, caches, clock, pace }: ActorDeps, machine: Machine): Promise<ReconcileResult> {
  const { namespace, name } = machine.metadata;
  const node = caches.nodes.get({ name: machine.status?.nodeRef?.name ?? '' });
  if (machine.status?.phase !== 'Deleting') {
    await client.patch(Machine, { namespace, name }, { status: { phase: 'Deleting' } }, { type: 'merge', subresource: 'status' });
    if (node) await cordon(client, node, clock.now());
    return { requeueAfterMs: pace.lookAgainMs };
  }
  if (node && !(await drain(client, node.metadata.name))) return { requeueAfterMs: pace.lookAgainMs };
  await client.delete(Machine, { namespace, name });
  if (node) await client.delete(Node, { name: node.metadata.name });
  return {};
}
