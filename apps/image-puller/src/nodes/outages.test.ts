import { PullerExit } from '@flotilla/api/ran';
import { createRandom, type Relay, startRelay } from '@flotilla/control-plane/simulators';
import { mapConcurrently, pause, systemClock } from '@flotilla/pace';
import { eventually, ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fillStore, followLead, MemoryRegistry, MemoryStore, startLead } from '../../testing/memory-spoke.ts';
import type { LeadPlace } from './messages.ts';

/** Outages that pass, over the real channel: the link pays for no byte twice, however long they are, wherever and whenever. */

/** Time passes in steps between which this process is idle: a busy machine makes plays longer, and changes nothing in them. */
const STEP_MS = 100;
const IDLE_MS = 5;

const SECONDS = [5, 20, 45, 120];
const KINDS = ['link', 'registry', 'path', 'lead', 'power'] as const;
const MOMENTS = [0.1, 0.5, 0.9];
interface Cell {
  readonly kind: (typeof KINDS)[number];
  readonly seconds: number;
  readonly moment: number;
}

/** `npm run matrix:nodes` plays every cell of the table several times, `CELLS=60` each of them once, SEED in another way; the suite plays one of each kind. */
const { CELLS, SEED } = z
  .object({
    CELLS: z
      .literal('all')
      .transform(() => 200)
      .or(z.coerce.number().int().min(1))
      .optional(),
    SEED: z.coerce.number().int().default(0),
  })
  .parse(process.env);
const table = SECONDS.flatMap((seconds) => MOMENTS.flatMap((moment) => KINDS.map((kind): Cell => ({ kind, seconds, moment }))));
const few = KINDS.map((kind, index): Cell => ({ kind, seconds: [45, 20, 45, 120, 20][index] ?? 5, moment: MOMENTS[index % 3] ?? 0.5 }));
const plays = CELLS === undefined ? few : Array.from({ length: CELLS }, (_, index) => table[index % table.length] ?? expect.fail());
const AT_ONCE = 6;

const SIZES = Array.from({ length: 12 }, (_, index) => 800_000 - 50_000 * index);
/** Nobody is asked for it: the path is closed until there is a lead. */
const NO_LEAD = 'tcp://127.0.0.1:1';
/** A lead is known before the store of its node is open. */
const OPEN_MS = 5_000;
/** A pull takes about a minute. */
const PIECE = { pieceBytes: 8 * 1024, pauseMs: 400 };

/** One spoke of four nodes and one outage. */
class Play {
  readonly clock = new ManualClock();
  readonly registry = new MemoryRegistry(SIZES, PIECE.pauseMs, { ...PIECE, clock: this.clock });
  readonly #names = ['n0', 'n1', 'n2', 'n3'];
  readonly #stores = new Map(this.#names.map((name) => [name, new MemoryStore()]));
  readonly #powered = new Map<string, AbortController>();
  #path: Relay | undefined;
  readonly #random: () => number;
  readonly #lives: Promise<void>[] = [];
  #place: LeadPlace | undefined;
  #led: Awaited<ReturnType<typeof startLead>> | undefined;
  #filling: Promise<void> | undefined;

  constructor(seed: number) {
    this.#random = createRandom(seed, 'outages of nodes');
  }

  /** Returns bytes served over bytes needed. */
  async run({ kind, seconds, moment }: Cell): Promise<number> {
    await using path = await startRelay(NO_LEAD, { faults: { refuse: true } });
    this.#path = path;
    using _time = this.#letTimePass();
    await this.#lead({ succeeds: false });
    for (const name of this.#names.slice(1)) this.#power(name);
    const at = Math.min(0.97, moment + 0.05 * this.#random()) * this.registry.neededBytes;
    await eventually(() => this.registry.servedBytes >= at, 'the moment', 120_000, 5);
    const end = await this.#begin(kind);
    await pause(this.clock, seconds * 1_000);
    await end();
    await this.#filling;
    const led = this.#led ?? expect.fail();
    expect(await led.lead.awaitNodes()).toBe('whole');
    await led.lead.end();
    await Promise.all(this.#lives);
    await led[Symbol.asyncDispose]();
    for (const [name, store] of this.#stores)
      expect(
        this.registry.blobs.filter(({ digest }) => !store.blobs.has(digest)),
        `${name} lacks`,
      ).toEqual([]);
    return this.registry.servedBytes / this.registry.neededBytes;
  }

  #letTimePass(): Disposable {
    let isOver = false;
    const pass = async (): Promise<void> => {
      while (!isOver) {
        await pause(systemClock, IDLE_MS);
        await this.clock.advance(STEP_MS);
      }
    };
    void pass();
    return {
      [Symbol.dispose]: () => {
        isOver = true;
      },
    };
  }

  async #lead({ succeeds }: { readonly succeeds: boolean }): Promise<void> {
    const store = this.#stores.get('n0') ?? expect.fail();
    const led = await startLead({ nodes: this.#names, clock: this.clock, store, succeeds });
    const sharing = led.lead.sharing();
    this.#led = led;
    const path = this.#path ?? expect.fail();
    path.setTarget(`tcp://127.0.0.1:${led.place.port}`);
    path.setFaults({});
    this.#place = { ...led.place, port: path.port };
    await pause(this.clock, OPEN_MS * this.#random());
    await sharing.open(store);
    this.#filling = fillStore(store, this.registry, sharing, { signal: led.signal, clock: this.clock });
  }

  #power(name: string): void {
    const off = new AbortController();
    this.#powered.set(name, off);
    this.#lives.push(this.#live(name, off.signal));
  }

  /** Follows one lead after the other, as the puller of a node does. */
  async #live(name: string, off: AbortSignal): Promise<void> {
    while (!off.aborted && !(await this.#follow(name, off).catch(() => false))) await pause(this.clock, 1_000, off);
  }

  async #follow(name: string, off: AbortSignal): Promise<boolean> {
    const place = this.#place ?? expect.fail();
    await using node = await followLead(place, name, this.#stores.get(name), {
      clock: this.clock,
      isReplaced: () => this.#place !== place,
    });
    const kill = (): void => void node.kill();
    off.addEventListener('abort', kill);
    if (off.aborted) kill();
    await node.fill(this.registry);
    await node.follower.serveUntilOver(PullerExit.done);
    return !node.follower.lost.aborted;
  }

  /** Begins an outage; the answer ends it. */
  async #begin(kind: Cell['kind']): Promise<() => Promise<void>> {
    if (kind === 'link' || kind === 'registry') {
      this.registry.away = kind;
      return async () => {
        this.registry.away = undefined;
      };
    }
    if (kind === 'path') {
      this.#path?.setFaults({ refuse: true });
      this.#path?.cutNow();
      for (const store of this.#stores.values()) store.isAway = true;
      return async () => {
        this.#path?.setFaults({});
        for (const store of this.#stores.values()) store.isAway = false;
      };
    }
    if (kind === 'lead') {
      this.#path?.setFaults({ refuse: true });
      await this.#led?.[Symbol.asyncDispose]();
      await this.#filling?.catch(() => undefined);
      return () => this.#lead({ succeeds: true });
    }
    const name = this.#names[1 + Math.floor(this.#random() * 3)] ?? expect.fail();
    this.#powered.get(name)?.abort();
    return async () => this.#power(name);
  }
}

const text = ({ kind, seconds, moment }: Cell): string => `${kind} away for ${seconds} s at ${moment}`;

test(`no outage has the link pay twice, in ${plays.length} plays from seed ${SEED} on`, {
  timeout: 240_000 + plays.length * 15_000,
}, async () => {
  const paid = new Map<string, number>();
  const play = async ([index, cell]: readonly [number, Cell]): Promise<void> => {
    const name = `${text(cell)}, seed ${SEED + index}`;
    const ratio = await new Play(SEED + index).run(cell).catch((cause: unknown) => {
      throw new Error(name, { cause });
    });
    console.log(`${name}: ${ratio.toFixed(4)}`);
    paid.set(name, ratio);
  };
  await mapConcurrently(plays.entries(), AT_ONCE, play, { stopAtFailure: true });
  expect([...paid].filter(([, ratio]) => ratio > 1.02)).toEqual([]);
});
