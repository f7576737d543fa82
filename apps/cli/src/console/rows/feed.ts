import { randomBytes } from 'node:crypto';
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
  readonly id: string;
  readonly data: string;
}

interface Remembered extends Sent {
  readonly number: number;
  readonly at: number;
  /** The upgrade whose members it is about; undefined: for everybody. */
  readonly upgrade: string | undefined;
}

/** A page that listens. */
interface Listener {
  readonly upgrade: string | undefined;
  readonly send: (sent: Sent) => void;
}

/** Wish of a page when it comes. */
interface Wish {
  /** The upgrade whose members it shows. */
  readonly upgrade: string | undefined;
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
  listen({ upgrade, after, greeting }: Wish, send: Listener['send']): () => void {
    this.#say();
    const missed = this.#missed(after, upgrade);
    const say = (message: StreamMessage) => send({ id: this.#id(this.#number), data: JSON.stringify(message) });
    if (missed) for (const sent of missed) send(sent);
    else say({ ...greeting, ...this.#fleet.whole(), ...(upgrade !== undefined && this.#lookAt(upgrade)) });
    const listener = { upgrade, send };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #lookAt(upgrade: string): StreamMessage {
    if (!this.#lookedSince.has(upgrade)) this.#lookedSince.set(upgrade, this.#number);
    return this.#fleet.look(upgrade);
  }

  /** Messages since the one that a page has; undefined when some of them are not remembered. */
  #missed(after: string | undefined, upgrade: string | undefined): Sent[] | undefined {
    const [run, number = ''] = after?.split('-') ?? [];
    const from = Number(number);
    if (run !== this.#run || !Number.isInteger(from) || from < this.#forgotten || from > this.#number) return undefined;
    if (upgrade !== undefined && from < (this.#lookedSince.get(upgrade) ?? Number.POSITIVE_INFINITY)) return undefined;
    return this.#remembered.filter((each) => each.number > from && (each.upgrade === undefined || each.upgrade === upgrade));
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
      const isLookedAt = [...this.#listeners].some((listener) => listener.upgrade === upgrade);
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
    this.#remembered.push({ ...sent, number: this.#number, at: Date.now(), upgrade });
    for (const listener of this.#listeners) if (upgrade === undefined || listener.upgrade === upgrade) listener.send(sent);
  }

  #id(number: number): string {
    return `${this.#run}-${number}`;
  }
}
