import type { Client } from '@flotilla/runtime';
import type { EffectDeps } from './port.ts';

/** What a rehearsal ends with when there is anything to do. */
export const WOULD_WRITE = new Error('a rehearsal has come to its first call');

/** The client of one run, which knows whether it was used. */
export class HubWriter {
  readonly #deps: EffectDeps;
  /** Something was written, or tried to be. */
  hasWritten = false;
  /** The earliest moment the spoke must be looked at again, milliseconds since the epoch. */
  wakeAt: number | undefined;

  constructor(deps: EffectDeps) {
    this.#deps = deps;
  }

  /** For one call: not when the run was told to stop, nor in a rehearsal. */
  get client(): Client {
    this.#deps.signal?.throwIfAborted();
    this.hasWritten = true;
    if (this.#deps.isRehearsal) throw WOULD_WRITE;
    return this.#deps.client;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#deps.now();
  }

  /** Asks for a look then; the earliest of several counts. */
  wake(at: number): void {
    this.wakeAt = Math.min(this.wakeAt ?? at, at);
  }
}
