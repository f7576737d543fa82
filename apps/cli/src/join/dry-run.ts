import { Namespace, Secret } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import type { Client, ServerAddress } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { renderKubeconfig, secretObjects } from './agent-secret.ts';
import { helmArguments, helmCommand, runHelm } from './helm.ts';
import { acceptCluster, FIELD_MANAGER } from './hub-side.ts';
import type { JoinOptions } from './options.ts';

/** Stands for the token, which nobody has asked for. */
const NO_TOKEN = 'dry-run';

/** Has hub and spoke check what a registration would write, which they do not store; resolves to what it would do, a line each. */
export async function rehearseJoin(hub: Client, options: JoinOptions, address: ServerAddress): Promise<string[]> {
  const { name, label: labels, tokenDays } = options;
  const isKnown = (await hub.get(ManagedCluster, { name })) !== undefined;
  await acceptCluster(hub, { name, labels, dryRun: true });
  return [
    `${isKnown ? 'accept' : 'create'} ManagedCluster ${name} on ${hub.server}`,
    `ask there for a token of ${tokenDays} days, for an agent that reaches the hub at ${address.server}`,
    ...(options.print ? ['print the objects for the spoke'] : await onSpoke(options, address)),
  ];
}

async function onSpoke(options: JoinOptions, address: ServerAddress): Promise<string[]> {
  const { spokeKubeconfig: kubeconfig, spokeContext: context, namespace, name } = options;
  await using connected = connect({ kubeconfig, context });
  const spoke = connected.client;
  const [place, secret] = secretObjects(namespace, renderKubeconfig(address, name, NO_TOKEN));
  const how = { fieldManager: FIELD_MANAGER, dryRun: true };
  const hasNamespace = (await spoke.get(Namespace, { name: namespace })) !== undefined;
  await spoke.apply(Namespace, place, how);
  // A dry run creates no namespace that the Secret could be checked in.
  if (hasNamespace) await spoke.apply(Secret, secret, { ...how, force: true });
  const args = helmArguments(options, address);
  const rendered = await runHelm([...args, '--dry-run=server']);
  const write = `write Secret ${namespace}/${secret.metadata.name}`;
  return [
    hasNamespace ? `${write} on ${spoke.server}` : `create namespace ${namespace} on ${spoke.server}, and ${write} there`,
    rendered === undefined ? `name the command that installs the agent, as there is no helm here: ${helmCommand(args)}` : helmCommand(args),
  ];
}
