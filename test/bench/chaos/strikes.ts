import { eventually } from '@flotilla/pace/testing';
import type { RolloutWorld } from '../../integration/rollout/world.ts';
import { type RunningProgram, startWorker } from '../../support/programs.ts';
import type { TestRedis } from '../../system/precache/redis.ts';
import type { WatchRelay } from './watch-relay.ts';

/** What can happen to a hub, whatever it is doing. */
const STRIKES = ['kill', 'leader change', 'worker kill', 'empty queue', 'API server restart', 'expired watches'] as const;
type Strike = (typeof STRIKES)[number];

/** As many strikes as are wanted, each kind as often as the others, in an order that the seed decides. */
export function drawStrikes(count: number, random: () => number): Strike[] {
  const rounds = Array.from({ length: Math.ceil(count / STRIKES.length) }, () => shuffled(STRIKES, random));
  return rounds.flat().slice(0, count);
}

const shuffled = <T>(items: readonly T[], random: () => number): T[] =>
  items
    .map((item) => ({ item, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);

/** What strikes reach. */
interface Surroundings {
  readonly world: RolloutWorld;
  readonly redis: TestRedis;
  readonly relay: WatchRelay;
}

/** Hubs of a world, of which one leads at a time, a worker beside them, and what is done to them. */
export class Chaos {
  readonly #around: Surroundings;
  #leases = 0;
  #worker: RunningProgram | undefined;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Starts a hub with a lease of its own: a predecessor that was killed has not given its lease back. */
  async startHub(): Promise<void> {
    this.#leases += 1;
    await this.#start();
  }

  /** Starts a worker that takes steps for whoever leads. */
  async startWorker(): Promise<void> {
    const { world, redis, relay } = this.#around;
    this.#worker = await startWorker(relay.kubeconfig, world.dir, redis.url);
  }

  /** Ends the worker; the world ends its hub. */
  async stop(): Promise<void> {
    await this.#worker?.stop();
  }

  async strike(strike: Strike): Promise<void> {
    const { world, redis, relay } = this.#around;
    switch (strike) {
      case 'kill':
        await world.hub?.stop({ signal: 'SIGKILL' });
        return this.startHub();
      case 'leader change':
        return this.#changeLeader();
      case 'worker kill':
        await this.#worker?.stop({ signal: 'SIGKILL' });
        return this.startWorker();
      case 'empty queue':
        return redis.flushAll();
      case 'API server restart':
        return world.server.restart();
      case 'expired watches':
        return this.#expireWatches(relay);
    }
  }

  async #expireWatches(relay: WatchRelay): Promise<void> {
    const before = relay.refused();
    const watches = relay.expireWatches();
    if (watches === 0) throw new Error('the hub watched nothing');
    await eventually(() => relay.refused() - before >= watches / 2, 'most watches to be refused');
  }

  async #start(standby = false): Promise<RunningProgram> {
    const { world, redis, relay } = this.#around;
    const args = ['--lease-name', `chaos-${this.#leases}`, '--redis-url', redis.url];
    return world.startHubProcess({ args, kubeconfig: relay.kubeconfig, standby });
  }

  /** The next one waits already; the one before gives up its lease and ends. */
  async #changeLeader(): Promise<void> {
    const leader = this.#around.world.hub;
    const next = await this.#start(true);
    await eventually(async () => (await next.output()).includes('Waiting for the lease'), 'the next hub to wait', 60_000);
    await leader?.stop();
    await eventually(async () => (await next.output()).includes('Caches are filled'), 'the next hub to lead', 60_000);
  }
}
