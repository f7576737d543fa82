import { randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { StreamMessage } from '@flotilla/api/answers';
import type { Fleet } from './fleet.ts';

/** Between two messages: a person sees no sooner, and a thousand changes a second become four messages. */
const EVERY_MS = 250;
/** Share of the time that goes into making rows at most, as one part of so many. */
const ONE_PART_OF = 5;
/** Between two looks at the clock. */
const AGE_MS = 5_000;
/** A page that was away for less gets what it missed. */
const REMEMBERED_MS = 60_000;

/** A message with the id by which a page says how far it has read. */
export interface Sent {
  /** Absent where more follows that belongs to it. */
  readonly id?: string;
  readonly data: string;
}

/** Rows say the same words again and again: compressed, what is remembered takes little room. */
const PACKING = { level: 1 } as const;

interface Remembered {
  readonly id: string;
  /** Its text, compressed. */
  readonly packed: Buffer;
  readonly number: number;
  readonly at: number;
  /** The upgrade whose members it is about; undefined: for everybody. */
  readonly upgrade: string | undefined;
}

/** A page that listens, or one for several. */
interface Listener {
  readonly upgrades: ReadonlySet<string>;
  readonly send: (sent: Sent) => void;
}

/** Wish of a page when it comes. */
export interface Wish {
  /** Upgrades whose members it shows and has. */
  readonly upgrades: readonly string[];
  /** Upgrades whose members it shows and lacks. */
  readonly fresh: readonly string[];
  /** Id of the last message that it has. */
  readonly after: string | undefined;
  /** Said to every page once. */
  readonly greeting: StreamMessage;
}

/** Changes of the fleet for all pages: made once, remembered for a while. */
export class Feed {
  readonly #fleet: Fleet;
  /** Ids of another run are not ours. */
  readonly #run = randomBytes(4).toString('hex');
  readonly #listeners = new Set<Listener>();
  /** Upgrade that is looked at → number of the message before its members were said. */
  readonly #lookedSince = new Map<string, number>();
  #remembered: Remembered[] = [];
  #number = 0;
  #forgotten = 0;
  #notBefore = 0;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Somebody listens. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  /** Begins to look for changes, until the signal aborts. */
  start(signal: AbortSignal): void {
    const looking = setInterval(() => this.#look(), EVERY_MS);
    const aging = setInterval(() => this.#age(), AGE_MS);
    signal.addEventListener('abort', () => {
      clearInterval(looking);
      clearInterval(aging);
    });
  }

  /** Sends a page what it lacks, then every change; returns the way to end it. */
  listen({ upgrades, fresh, after, greeting }: Wish, send: Listener['send']): () => void {
    this.#say();
    const from = this.#placeOf(after);
    const [kept, lacking] = [new Set<string>(), new Set(fresh)];
    for (const upgrade of upgrades) (from !== undefined && this.#hasLookedSince(upgrade, from) ? kept : lacking).add(upgrade);
    for (const upgrade of lacking) send({ data: JSON.stringify(this.#lookAt(upgrade)) });
    if (from === undefined) send({ id: this.#id(this.#number), data: JSON.stringify({ ...greeting, ...this.#fleet.whole() }) });
    else for (const each of this.#remembered) if (each.number > from && isFor(each, kept)) send(unpack(each));
    const listener = { upgrades: kept.union(lacking), send };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #lookAt(upgrade: string): StreamMessage {
    if (!this.#lookedSince.has(upgrade)) this.#lookedSince.set(upgrade, this.#number);
    return this.#fleet.look(upgrade);
  }

  /** Number of the message that a page has; undefined when not all since then are remembered. */
  #placeOf(after: string | undefined): number | undefined {
    const [run, number = ''] = after?.split('-') ?? [];
    const from = Number(number);
    const isKnown = run === this.#run && Number.isInteger(from) && from >= this.#forgotten && from <= this.#number;
    return isKnown ? from : undefined;
  }

  #hasLookedSince(upgrade: string, from: number): boolean {
    return from >= (this.#lookedSince.get(upgrade) ?? Number.POSITIVE_INFINITY);
  }

  #look(): void {
    if (this.#fleet.isChanged && performance.now() >= this.#notBefore) this.#say();
  }

  #age(): void {
    this.#fleet.age();
    this.#say();
    const oldest = Date.now() - REMEMBERED_MS;
    this.#remembered = this.#remembered.filter(({ at, number }) => {
      if (at < oldest) this.#forgotten = number;
      return at >= oldest;
    });
    for (const [upgrade, since] of this.#lookedSince) {
      const isLookedAt = [...this.#listeners].some(({ upgrades }) => upgrades.has(upgrade));
      if (isLookedAt || since >= this.#forgotten) continue;
      this.#lookedSince.delete(upgrade);
      this.#fleet.lookAway(upgrade);
    }
  }

  #say(): void {
    const begun = performance.now();
    const { message, members } = this.#fleet.takeChanges(Date.now());
    const ended = performance.now();
    this.#notBefore = ended + (ended - begun) * (ONE_PART_OF - 1);
    if (Object.keys(message).length > 0) this.#send(message, undefined);
    for (const each of members) this.#send(each, each.members?.upgrade);
  }

  #send(message: StreamMessage, upgrade: string | undefined): void {
    this.#number += 1;
    const sent = { id: this.#id(this.#number), data: JSON.stringify(message) };
    const remembered = { id: sent.id, packed: pack(sent.data), number: this.#number, at: Date.now(), upgrade };
    this.#remembered.push(remembered);
    for (const listener of this.#listeners) if (isFor(remembered, listener.upgrades)) listener.send(sent);
  }

  #id(number: number): string {
    return `${this.#run}-${number}`;
  }
}

/** Copied: what zlib gives out holds a larger buffer. */
const pack = (data: string): Buffer => Buffer.from(deflateRawSync(data, PACKING));
const unpack = ({ id, packed }: Remembered): Sent => ({ id, data: inflateRawSync(packed).toString('utf8') });

const isFor = ({ upgrade }: Pick<Remembered, 'upgrade'>, upgrades: ReadonlySet<string>): boolean =>
  upgrade === undefined || upgrades.has(upgrade);
