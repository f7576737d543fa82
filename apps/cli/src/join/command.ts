import { FlotillaError, findCondition } from '@flotilla/api';
import { Namespace, Secret } from '@flotilla/api/core';
import { AGENT_ACCOUNT, HUB_ACCEPTED, ManagedCluster } from '@flotilla/api/ocm';
import { type Client, checkOptions, requestToken, type ServerAddress } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { follow } from '../hub/follow.ts';
import type { Run } from '../run.ts';
import { writeErr, writeOut } from '../terminal/output.ts';
import { hubAddress, renderKubeconfig, secretObjects } from './agent-secret.ts';
import { helmArguments, helmCommand, runHelm } from './helm.ts';
import { JoinOptions } from './options.ts';

/** `flotilla join`: registers a spoke with a hub that has no RHACM. */
export const join: Run = (_, given) => register(checkOptions(JoinOptions, given));

async function register(options: JoinOptions): Promise<void> {
  const { name } = options;
  const address = await hubAddress(options);
  await using connected = connect({ kubeconfig: options.hubKubeconfig, context: options.hubContext });
  const hub = connected.client;
  if (options.dryRun) {
    const lines = await rehearseJoin(hub, options, address);
    return writeOut(`Nothing was written. Without --dry-run this would\n${lines.map((line) => `- ${line}\n`).join('')}`);
  }
  await acceptCluster(hub, { name, labels: options.label });
  await untilLetIn(hub, name, options.timeoutSeconds * 1000);
  say(`${hub.server} has let ${name} in.`);
  // The token is bound to the account, so a denied or deleted ManagedCluster ends it at once.
  const token = await requestToken(hub, { namespace: name, name: AGENT_ACCOUNT }, options.tokenDays * 86_400);
  const objects = secretObjects(options.namespace, renderKubeconfig(address, name, token));
  const args = helmArguments(options, address);
  await (options.print ? print(objects, args) : install(options, objects, args));
}

async function install(
  { spokeKubeconfig, spokeContext, name }: JoinOptions,
  [namespace, secret]: Objects,
  args: readonly string[],
): Promise<void> {
  await using connected = connect({ kubeconfig: spokeKubeconfig, context: spokeContext });
  const spoke = connected.client;
  await spoke.apply(Namespace, namespace, { fieldManager: FIELD_MANAGER });
  // Forced: the agent, which has renewed the token, owns the field.
  await spoke.apply(Secret, secret, { fieldManager: FIELD_MANAGER, force: true });
  const isInstalled = (await runHelm(args)) !== undefined;
  say(
    isInstalled
      ? `The agent is installed. It is up when the hub says so:`
      : `There is no helm here. Install the agent with:\n\n  ${helmCommand(args)}\n\nThen:`,
  );
  say(`\n  kubectl wait --for=condition=ManagedClusterConditionAvailable managedcluster/${name} --timeout=120s`);
}

type Objects = ReturnType<typeof secretObjects>;

async function print(objects: Objects, args: readonly string[]): Promise<void> {
  const agent = await runHelm(args);
  // JSON is YAML too.
  for (const object of objects) process.stdout.write(`---\n${JSON.stringify(object)}\n`);
  if (agent === undefined)
    say(`There is no helm here, so the agent itself is not among the objects. Print it with:\n\n  ${helmCommand(args)}\n`);
  else process.stdout.write(agent);
  say('What was printed holds a credential of the spoke: pipe it to kubectl apply --server-side -f -, keep it nowhere.');
}

/** Writes to standard error; standard output is for objects. */
const say = (line: string): void => writeErr(`${line}\n`);

/** Stands for the token, which nobody has asked for. */
const NO_TOKEN = 'dry-run';

/** Has hub and spoke check what a registration would write, which they do not store; resolves to what it would do, a line each. */
async function rehearseJoin(hub: Client, options: JoinOptions, address: ServerAddress): Promise<string[]> {
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

/** Field manager of all writes of the command, on hub and spoke. */
const FIELD_MANAGER = 'flotilla-cli';

/** The cluster that a hub is asked to let in. */
interface Acceptance {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The hub checks it and stores nothing. */
  readonly dryRun?: boolean;
}

/** Creates or accepts the ManagedCluster; its other fields and labels stay. */
async function acceptCluster(hub: Client, { name, labels, dryRun }: Acceptance): Promise<void> {
  const object = { metadata: { name, labels: { ...labels } }, spec: { hubAcceptsClient: true } };
  await hub.apply(ManagedCluster, object, { fieldManager: FIELD_MANAGER, force: true, dryRun });
}

/** Waits until the hub accepts the spoke. Throws `FLOTILLA_NOT_ACCEPTED` on a refusal, `FLOTILLA_TIME_UP` when the time is. */
export async function untilLetIn(hub: Pick<Client, 'list' | 'watch'>, name: string, timeoutMs: number): Promise<void> {
  for await (const cluster of follow(hub, ManagedCluster, { name }, AbortSignal.timeout(timeoutMs))) {
    const condition = findCondition(cluster?.status?.conditions, HUB_ACCEPTED);
    // A denial may predate this acceptance, but an impossible name is refused for good.
    if (condition?.reason === 'Error') throw new FlotillaError('FLOTILLA_NOT_ACCEPTED', `the hub refuses ${name}: ${condition.message}`);
    if (condition?.status === 'True') return;
  }
  throw new FlotillaError(
    'FLOTILLA_TIME_UP',
    `the hub did not let ${name} in within ${timeoutMs / 1000} s: see that a hub with --standalone (chart value standalone) is running there; on a hub with RHACM import the cluster with RHACM`,
  );
}
