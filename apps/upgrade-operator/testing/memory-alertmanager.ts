/** Alertmanager's silences in memory, as the real one keeps them (a test holds both to the same answers): for tests. */

import { ServiceError, ServiceErrorCode } from '@flotilla/http';
import type { Clock } from '@flotilla/runtime';
import type { Alertmanager, NewSilence, Silence } from '../src/clients/alertmanager.ts';

/** Retention of expired silences, which is the default of the real Alertmanager. */
const RETENTION_MS = 120 * 3_600_000;

interface Kept extends NewSilence {
  readonly id: string;
}

/** Goes by its own clock; whoever calls it may have another. */
export class MemoryAlertmanager implements Alertmanager {
  /** Nobody gets an answer while this is there. Silences run out all the same. */
  outage: Error | undefined;
  /** Milliseconds that its clock is ahead of everybody else's. */
  aheadMs = 0;
  readonly #clock: Clock;
  #kept: Kept[] = [];
  #made = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Silences that were made so far, forgotten ones included. */
  get made(): number {
    return this.#made;
  }

  /** Silences that it would answer with, also during an outage. */
  peek(): Silence[] {
    const now = this.#now();
    this.#kept = this.#kept.filter(({ endsAt }) => now < Date.parse(endsAt) + RETENTION_MS);
    return this.#kept.map((silence) => ({
      ...silence,
      matchers: silence.matchers.map((matcher) => ({ ...matcher })),
      status: { state: stateOf(silence, now) },
    }));
  }

  async silences(): Promise<Silence[]> {
    this.#answer();
    return this.peek();
  }

  async put(silence: NewSilence): Promise<string> {
    this.#answer();
    const now = this.#now();
    if (Date.parse(silence.startsAt) >= Date.parse(silence.endsAt))
      throw refused(400, 'BadRequest', 'Failed to create silence: start time must be before end time');
    if (Date.parse(silence.endsAt) < now) throw refused(400, 'BadRequest', "Failed to create silence: end time can't be in the past");
    const known = silence.id === undefined ? undefined : this.#kept.find(({ id }) => id === silence.id);
    if (silence.id !== undefined && !known) throw refused(404, 'NotFound', 'silence not found');
    if (known && mayBecome(known, silence, now)) {
      this.#replace(known, { ...silence, id: known.id });
      return known.id;
    }
    if (known) this.#end(known);
    this.#made += 1;
    const id = `silence-${this.#made}`;
    this.#kept.push({ ...silence, id, startsAt: iso(Math.max(now, Date.parse(silence.startsAt))) });
    return id;
  }

  async expire(id: string): Promise<void> {
    this.#answer();
    const known = this.#kept.find((silence) => silence.id === id);
    if (known) this.#end(known);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #now(): number {
    return this.#clock.now() + this.aheadMs;
  }

  #answer(): void {
    if (this.outage) throw this.outage;
  }

  #end(silence: Kept): void {
    const now = this.#now();
    const state = stateOf(silence, now);
    if (state === 'expired') return;
    this.#replace(silence, { ...silence, endsAt: iso(now), ...(state === 'pending' && { startsAt: iso(now) }) });
  }

  #replace(old: Kept, silence: Kept): void {
    this.#kept = this.#kept.map((each) => (each === old ? silence : each));
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();

function stateOf({ startsAt, endsAt }: NewSilence, now: number): Silence['status']['state'] {
  if (now < Date.parse(startsAt)) return 'pending';
  return now < Date.parse(endsAt) ? 'active' : 'expired';
}

/** True when a silence may be changed in place; otherwise a new one takes its place. */
function mayBecome(old: Kept, next: NewSilence, now: number): boolean {
  if (JSON.stringify(old.matchers) !== JSON.stringify(next.matchers)) return false;
  const seconds = (time: string) => Math.trunc(Date.parse(time) / 1000);
  const state = stateOf(old, now);
  if (state === 'active') return seconds(next.startsAt) === seconds(old.startsAt);
  return state === 'pending' && Date.parse(next.startsAt) >= now;
}

const refused = (status: number, name: string, words: string): ServiceError =>
  new ServiceError(ServiceErrorCode.refused, `[POST /silences][${status}] postSilences${name}  ${words}`, { status, words });
