import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandOptions, currentRun, runCommand } from '@flotilla/control-plane/processes';
import {
  type Cluster,
  type OcmFleet,
  startApiServer,
  startCluster,
  startControllerManager,
  startOcmFleet,
} from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import type { Site } from '../fleet.ts';
import { startHub } from '../programs.ts';
import { EDGE, gateway, UPGRADES } from './gateway.ts';

/** A spoke, with its whole cluster at hand. */
export interface OcmSpoke extends Site {
  readonly cluster: Cluster;
}

/** A hub of real Open Cluster Management components with our program beside them, and whole clusters as spokes. */
export interface OcmWorld extends AsyncDisposable {
  readonly hub: Site;
  readonly spokes: readonly OcmSpoke[];
  readonly fleet: OcmFleet;
}

/** How the world is started. */
interface OcmWorldOptions {
  readonly spokes: number;
  readonly say: (line: string) => void;
  /** Ends commands that run when the program is interrupted. */
  readonly signal: AbortSignal;
}

/** Starts it with version 1 of the gateway on every spoke. Needs root on Linux; leaves nothing behind when it fails. */
export async function startOcmWorld({ spokes: count, say, signal }: OcmWorldOptions): Promise<OcmWorld> {
  const stack = new AsyncDisposableStack();
  try {
    const dir = join((await currentRun()).dir, 'ocm');
    await mkdir(dir, { recursive: true });
    const kubectl = (await ensureTools(['kubectl'], { log: say })).path('kubectl');
    const [hub, spokes] = await Promise.all([startHubServer(kubectl, { stack, say, signal }), startSpokes(count, { stack, say, signal })]);
    say(`hub and ${spokes.map(({ name }) => name).join(', ')} are up`);
    const fleet = stack.use(await startOcmFleet({ hub, spokes, namespaces: [UPGRADES], dir, log: say }));
    say(`${fleet.components.length} components of Open Cluster Management run: ${fleet.components.map(({ name }) => name).join(', ')}`);
    stack.use(await startHub(hub.kubeconfig, dir, ['--install-crds']));
    await Promise.all(spokes.map(startGateway));
    return { hub, spokes, fleet, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

interface Parts extends Pick<OcmWorldOptions, 'say' | 'signal'> {
  readonly stack: AsyncDisposableStack;
}

/** The hub runs no pods: an API server, and the controllers that take away what is deleted. */
async function startHubServer(kubectl: string, { stack, say, signal }: Parts): Promise<Site> {
  const server = stack.use(await startApiServer({ log: say }));
  stack.use(await startControllerManager(server, { log: say }));
  const { kubeconfig } = server;
  return {
    name: 'hub',
    kubeconfig,
    client: await server.client(),
    kubectl: (args: readonly string[], options?: CommandOptions) =>
      runCommand(kubectl, ['--kubeconfig', kubeconfig, ...args], { signal, ...options }),
  };
}

/** All at once; when one fails, those that came up are ended too. */
async function startSpokes(count: number, { stack, say, signal }: Parts): Promise<OcmSpoke[]> {
  const names = Array.from({ length: count }, (_, index) => `spoke-${index + 1}`);
  const results = await Promise.allSettled(names.map((name) => startCluster({ name, log: say })));
  const clusters = results.flatMap((result) => (result.status === 'fulfilled' ? [stack.use(result.value)] : []));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return clusters.map((cluster) => ({
    name: cluster.name,
    kubeconfig: cluster.kubeconfig,
    client: cluster.client(),
    kubectl: (args, options) => cluster.kubectl(args, { signal, ...options }),
    cluster,
  }));
}

/** What runs before any upgrade. */
async function startGateway(spoke: OcmSpoke): Promise<void> {
  const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: EDGE } }, gateway('1')];
  for (const object of objects) await spoke.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(object) });
  await spoke.kubectl(['-n', EDGE, 'wait', 'deployments', '--all', '--for=condition=Available', '--timeout=90s'], { timeoutMs: 100_000 });
}

/** Halts the controllers of a spoke, as a busy or restarting control plane does, until the returned function lets them go on. */
export async function haltControllers({ cluster }: OcmSpoke): Promise<() => Promise<void>> {
  const signal = (name: 'STOP' | 'CONT') => {
    const script = `for p in /proc/[0-9]*; do case "$(readlink $p/exe)" in */kube-controller-manager) kill -${name} "\${p#/proc/}";; esac; done`;
    return cluster.run('/bin/sh', ['-c', script]);
  };
  await signal('STOP');
  return async () => void (await signal('CONT'));
}
