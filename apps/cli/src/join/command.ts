import { Namespace, Secret } from '@flotilla/api/core';
import { AGENT_ACCOUNT } from '@flotilla/api/ocm';
import { checkOptions, requestToken } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import type { Run } from '../run.ts';
import { writeErr, writeOut } from '../terminal/output.ts';
import { hubAddress, renderKubeconfig, secretObjects } from './agent-secret.ts';
import { rehearseJoin } from './dry-run.ts';
import { helmArguments, helmCommand, runHelm } from './helm.ts';
import { acceptCluster, FIELD_MANAGER, untilLetIn } from './hub-side.ts';
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
