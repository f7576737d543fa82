import { PullerExit } from '@flotilla/api/ran';
import { createRandom } from '@flotilla/control-plane/simulators';
import { type Clock, mapConcurrently, systemClock } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fillStore, followLead, MemoryRegistry, MemoryStore, REPORT, startLead } from '../../testing/memory-spoke.ts';

/** Faults of nodes at seeded moments, over the real channel: every node is whole at the end, and no blob that a node is known to have crosses the link again. */

/** A case takes half of its time; faster, a busy machine would seem silent. */
const SPEED = 2;
const clock: Clock = {
  now: () => systemClock.now() * SPEED,
  setTimer: (ms, fn) => systemClock.setTimer(ms / SPEED, fn),
};

/** Cases of the sweep; FLOTILLA_NODE_STORIES=100 is the long form. */
const { FLOTILLA_NODE_STORIES: CASES, FLOTILLA_NODE_STORIES_SEED: SEED } = z
  .object({
    FLOTILLA_NODE_STORIES: z.coerce.number().int().min(1).default(2),
    FLOTILLA_NODE_STORIES_SEED: z.coerce.number().int().default(20_261_125),
  })
  .parse(process.env);
const AT_ONCE = 4;
const SIZES = [900_000, 700_000, 600_000, 500_000, 400_000, 300_000, 200_000, 100_000, 50_000];

type Node = Awaited<ReturnType<typeof followLead>>;
const KINDS = ['kill', 'reboot', 'link', 'between', 'wrong', 'full', 'added', 'removed'] as const;
type Kind = (typeof KINDS)[number];

/** One spoke of five nodes under faults. */
class Story {
  readonly registry = new MemoryRegistry(SIZES, 3);
  readonly names = ['n0', 'n1', 'n2', 'n3', 'n4'];
  readonly stores = new Map<string, MemoryStore>();
  readonly nodes = new Map<string, Node>();
  readonly said: string[] = [];
  readonly again: string[] = [];
  readonly #random: () => number;
  readonly #fills: Promise<void>[] = [];

  constructor(seed: number) {
    this.#random = createRandom(seed, 'memory nodes');
    this.registry.onRead = (digest) => {
      const holder = [...this.stores].find(([name, store]) => this.names.includes(name) && !store.isWrong && store.told.has(digest));
      if (holder) this.again.push(`${digest} is on ${holder[0]}, and is fetched again after ${this.said.join(', ')}`);
    };
  }

  async run(): Promise<void> {
    await using led = await startLead({ nodes: this.names, clock, rules: { patienceSeconds: 40, absent: 'fail' } });
    const { place } = led;
    this.stores.set('n0', led.store);
    for (const name of this.names.slice(1)) await this.#start(place, name);
    const sharing = led.lead.sharing();
    await sharing.open(led.store);
    const own = fillStore(led.store, this.registry, sharing, { signal: led.signal, clock });
    for (const [index, kind] of [...Array(3)].map(() => this.#pick(KINDS)).entries()) {
      const at = ((index + 1) / 4) * this.registry.neededBytes;
      await eventually(() => this.registry.servedBytes >= at || this.#isWhole(led.store), 'the moment', 30_000, 5);
      await this.#play(kind, place);
    }
    await own;
    await this.#filled();
    const ends = [...this.nodes.values()].map((node) => node.follower.serveUntilOver(this.#codeOf(node)));
    const full = [...this.stores].filter(([name, { isFull }]) => isFull && this.names.includes(name));
    expect(await led.lead.awaitNodes(), this.said.join(', ')).toBe(full.length > 0 ? 'failed' : 'whole');
    const { nodes } = led.lead.sum({ ...REPORT, phase: 'done' });
    expect(nodes, this.said.join(', ')).toMatchObject({ total: this.names.length, failed: full.length, absent: 0 });
    await led.lead.end();
    await Promise.all(ends);
    for (const node of this.nodes.values()) await node.kill();
    for (const [name, store] of this.stores)
      if (this.names.includes(name) && !store.isFull) expect(this.#isWhole(store), `${name}: ${this.said.join(', ')}`).toBe(true);
    expect(this.again).toEqual([]);
  }

  #codeOf = ({ store }: Node): number => (store.isFull && !this.#isWhole(store) ? PullerExit.noSpace : PullerExit.done);

  #isWhole = (store: MemoryStore): boolean => this.registry.blobs.every(({ digest }) => store.blobs.has(digest));

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  async #start(place: Parameters<typeof followLead>[0], name: string): Promise<void> {
    const store = this.stores.get(name) ?? new MemoryStore();
    this.stores.set(name, store);
    const node = await followLead(place, name, store, { clock });
    this.nodes.set(name, node);
    this.#fills.push(node.fill(this.registry).catch(() => undefined));
  }

  /** Waits for every fill, also of nodes that began meanwhile. */
  async #filled(): Promise<void> {
    for (let done = -1; done !== this.#fills.length; ) {
      done = this.#fills.length;
      await Promise.all(this.#fills);
    }
  }

  async #play(kind: Kind, place: Parameters<typeof followLead>[0]): Promise<void> {
    const others = this.names.slice(1).filter((name) => this.nodes.has(name));
    const name = this.#pick(others);
    const store = this.stores.get(name) ?? expect.fail(name);
    // One disk at a time: with every one full nobody would be left.
    const isSpent = others.length < 3 || [...this.stores.values()].some(({ isFull, isWrong }) => isFull || isWrong);
    const what = isSpent && ['wrong', 'full', 'removed'].includes(kind) ? 'link' : kind;
    this.said.push(`${what} ${name}`);
    if (what === 'link') this.registry.cut();
    else if (what === 'wrong') store.isWrong = true;
    else if (what === 'full') store.isFull = !this.#isWhole(store);
    else if (what === 'between') {
      store.isCut = true;
      clock.setTimer(5_000, () => {
        store.isCut = false;
      });
    } else if (what === 'added') {
      const fresh = `n${this.stores.size}`;
      this.names.push(fresh);
      await this.#start(place, fresh);
    } else {
      await this.nodes.get(name)?.kill();
      this.nodes.delete(name);
      if (what === 'removed') this.names.splice(this.names.indexOf(name), 1);
      else {
        // A reboot takes longer than a restart of the puller, and less than the lead's patience with silence.
        const ms = what === 'reboot' ? 8_000 : 500;
        await new Promise<void>((resolve) => void clock.setTimer(ms, resolve));
        await this.#start(place, name);
      }
    }
  }
}

test(`${CASES} spokes of five nodes with three faults each are whole at the end, and no blob that is there is fetched again`, {
  timeout: 30_000 + CASES * 10_000,
}, async () => {
  const seeds = Array.from({ length: CASES }, (_, index) => SEED + index);
  const play = async (seed: number): Promise<void> => {
    const story = new Story(seed);
    await story.run().catch((cause: unknown) => {
      throw new Error(`seed ${seed}, after ${story.said.join(', ')}`, { cause });
    });
  };
  await mapConcurrently(seeds, AT_ONCE, play, { stopAtFailure: true });
});
