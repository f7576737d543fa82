import { transportCrds } from '@flotilla/api/ocm';
import { MemoryServer } from '@flotilla/control-plane/memory';
import {
  registerSpokes,
  type SimulatedSpokes,
  type SimulatedSpokesOptions,
  startSimulatedSpokes,
} from '@flotilla/control-plane/simulators';
import { SkippingClock } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';

/** Simulated spokes on a hub API server in memory, on which nothing but the transport is installed. */
export interface SimulatedFleet extends AsyncDisposable {
  readonly hub: Client;
  readonly spokes: SimulatedSpokes;
  /** Time of server and spokes. */
  readonly clock: SkippingClock;
}

interface SimulatedFleetOptions extends Omit<SimulatedSpokesOptions, 'client' | 'clock'> {
  /** Seconds that pass in one second of the machine; default 1. */
  readonly speed?: number | undefined;
}

/** Starts the server, and on it spokes of these names. */
export async function startSimulatedFleet({ speed = 1, ...options }: SimulatedFleetOptions): Promise<SimulatedFleet> {
  const clock = new SkippingClock(speed);
  const hub = new MemoryServer({ crds: transportCrds(), clock }).client();
  await registerSpokes(hub, options.names);
  const spokes = await startSimulatedSpokes({ client: hub, clock, ...options });
  return {
    hub,
    spokes,
    clock,
    async [Symbol.asyncDispose]() {
      await spokes.stop();
      await hub.close();
    },
  };
}
