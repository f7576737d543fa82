import { type AcceptanceEvent, type Drift, driftOf, type Json, textOfObject } from '@flotilla/release';
import type { Clock, Logger } from '@flotilla/runtime';
import type { Wanted } from '../payload/wanted.ts';

/** A change that somebody keeps making is reported again after so long, milliseconds. */
const TOLD_FOR_MS = 60 * 60_000;

/** A refused dry run is repeated after so long at first, then ever later. */
const FIRST_REFUSAL_MS = 5_000;
const LONGEST_DELAY_MS = 60_000;

interface DriftTellerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tell: (event: AcceptanceEvent) => void;
}

/** Tells once of each object what of it is put back, and whose change that undoes. */
export class DriftTeller {
  readonly #options: DriftTellerOptions;
  readonly #refused = new Map<string, { readonly times: number; readonly askAtMs: number }>();
  readonly #told = new Map<string, { readonly text: string; readonly atMs: number }>();

  constructor(options: DriftTellerOptions) {
    this.#options = options;
  }

  /** A write has made something else of a live object. */
  changed(wanted: Wanted, live: Json, stored: Json): void {
    const drift = driftOf(live, stored);
    // a remnant of an older release is nobody's change
    if (drift.fields.length > 0) this.#tell(wanted, drift);
  }

  /** The server refused to say what it makes of a manifest: what it fills in cannot be told from what somebody else wrote. Logged once. */
  unproven(manifest: string, wanted: Wanted, err: unknown): void {
    const { clock, logger } = this.#options;
    const times = (this.#refused.get(wanted.key)?.times ?? 0) + 1;
    this.#refused.set(wanted.key, { times, askAtMs: clock.now() + Math.min(LONGEST_DELAY_MS, FIRST_REFUSAL_MS * 2 ** (times - 1)) });
    if (times > 1) return;
    const { kind } = wanted.manifest;
    logger.warn(
      { manifest, kind, object: wanted.objectKey, err },
      'Comparing an object without the server, which refused the dry run: what was added by hand stays until it answers',
    );
  }

  /** The server has answered what it makes of a manifest. */
  proven({ key }: Wanted): void {
    this.#refused.delete(key);
  }

  /** True for an object that counts as it seems, because the server has just refused the dry run. */
  isRefused({ key }: Wanted): boolean {
    return this.#options.clock.now() < (this.#refused.get(key)?.askAtMs ?? 0);
  }

  /** An object is made anew because somebody deleted it. */
  deleted(wanted: Wanted): void {
    this.#tell(wanted, undefined);
  }

  #tell(wanted: Wanted, drift: Drift | undefined): void {
    const { clock, logger, tell } = this.#options;
    const what = drift ? sentenceOf(drift) : 'was deleted and is put back as the release has it';
    const before = this.#told.get(wanted.key);
    if (before?.text === what && clock.now() - before.atMs < TOLD_FOR_MS) return;
    this.#told.set(wanted.key, { text: what, atMs: clock.now() });
    logger.info(
      { kind: wanted.manifest.kind, object: wanted.objectKey, ...drift, ...(!drift && { deleted: true }) },
      'Putting back what somebody changed',
    );
    tell({ type: 'Normal', reason: 'ObjectPutBack', message: `${textOfObject(wanted.manifest)} ${what}` });
  }
}

const sentenceOf = ({ fields, more, managers }: Drift): string =>
  `is put back as the release has it: ${fields.join(', ')}${more > 0 ? ` and ${more} more` : ''} (written by ${managers.join(', ') || 'somebody who is not recorded'})`;

/** So often an object is mended at once; then ever later, because somebody else keeps changing it. */
const AT_ONCE = 3;
const FIRST_DELAY_MS = 1_000;
/** An object that nobody has touched for so long is mended at once again. */
const FORGOTTEN_AFTER_MS = 10 * 60_000;

/** Delays the mending of a drifted object: two writers that undo each other's work must not do it as fast as they can. */
export class MendPace {
  readonly #clock: Clock;
  readonly #mended = new Map<string, { readonly times: number; readonly lastMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  delayMs(key: string): number {
    const { times, lastMs } = this.#known(key);
    if (times < AT_ONCE) return 0;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (times - AT_ONCE));
    return Math.max(0, lastMs + delay - this.#clock.now());
  }

  count(key: string): void {
    this.#mended.set(key, { times: this.#known(key).times + 1, lastMs: this.#clock.now() });
  }

  #known(key: string): { readonly times: number; readonly lastMs: number } {
    const known = this.#mended.get(key);
    if (known && this.#clock.now() - known.lastMs < FORGOTTEN_AFTER_MS) return known;
    this.#mended.delete(key);
    return { times: 0, lastMs: 0 };
  }
}
