import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import { startHub, startProgram } from '../support/programs.ts';
import { PULLER } from './world.ts';

/** Hub and agent as programs, each on a real API server. */
export interface HubAndAgent extends AsyncDisposable {
  readonly hubServer: ApiServer;
  readonly hub: Client;
  readonly spoke: Client;
}

/** Starts them. @param prepare the spoke, before its agent runs */
export async function startHubAndAgent(cluster: string, prepare: (spoke: Client) => Promise<void>): Promise<HubAndAgent> {
  await using started = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-hub-and-agent-'));
  started.defer(() => rm(dir, { recursive: true, force: true }));
  const [hubServer, spokeServer] = await Promise.all([startApiServer(), startApiServer()]);
  started.use(hubServer);
  started.use(spokeServer);
  const [hub, spoke] = [await hubServer.client(), await spokeServer.client()];
  await prepare(spoke);
  started.use(await startHub(hubServer.kubeconfig, dir, ['--install-crds', '--standalone', '--precache-image', PULLER]));
  await registerSpokes(hub, [cluster], { available: false });
  const kubeconfigs = ['--hub-kubeconfig', hubServer.kubeconfig, '--spoke-kubeconfig', spokeServer.kubeconfig];
  const agent = {
    name: 'spoke-agent',
    entry: 'apps/spoke-agent/src/main.ts',
    args: ['--cluster-name', cluster, ...kubeconfigs, '--health-port', '0'],
    dir,
    env: { WORK_STATUS_SYNC_SECONDS: '1', PULLER_ROLE: 'puller' },
    isReady: (output: string) => output.includes('Watching the hub'),
  };
  started.use(await startProgram(agent));
  const stack = started.move();
  return { hubServer, hub, spoke, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
