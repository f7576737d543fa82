import { transportCrds } from '@flotilla/api/ocm';
import { startApiServer } from '@flotilla/control-plane/servers';
import {
  registerSpokes,
  type SimulatedSpokes,
  type SimulatedSpokesOptions,
  startSimulatedSpokes,
} from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';

/** Simulated spokes on a real hub API server, on which nothing but the transport is installed. */
export interface SimulatedFleet extends AsyncDisposable {
  readonly hub: Client;
  readonly spokes: SimulatedSpokes;
}

/** Starts the server, and on it spokes of these names. */
export async function startSimulatedFleet(options: Omit<SimulatedSpokesOptions, 'client'>): Promise<SimulatedFleet> {
  const server = await startApiServer({ crds: transportCrds() });
  const hub = await server.client();
  await registerSpokes(hub, options.names);
  const spokes = await startSimulatedSpokes({ client: hub, ...options });
  return {
    hub,
    spokes,
    async [Symbol.asyncDispose]() {
      await spokes.stop();
      await server.stop();
    },
  };
}
