/** One pass over an upgrade: since when things are seen, milliseconds since the epoch. */
export interface Sightings {
  /** Notes that it is seen now. @returns since when that has been so in every pass */
  readonly since: (what: string) => number;
  /** The same of something that was noted before; undefined when it was not. */
  readonly known: (what: string) => number | undefined;
}

/**
 * Remembers since when something of an upgrade is seen, for as long as every pass sees it: by the hub's clock, which is the only one that can be
 * compared. Losing it makes the hub wait a little longer.
 */
export class FirstSeen {
  readonly #seen = new Map<string, Map<string, number>>();

  /** Begins a pass. Sightings that it does not ask about are forgotten. @param upgrade uid @param now milliseconds since the epoch */
  pass(upgrade: string, now: number): Sightings {
    const before = this.#seen.get(upgrade);
    const seen = new Map<string, number>();
    this.#seen.set(upgrade, seen);
    const since = (what: string): number => {
      // A time that is yet to come was noted before the clock stepped back.
      const first = Math.min(seen.get(what) ?? before?.get(what) ?? now, now);
      seen.set(what, first);
      return first;
    };
    return { since, known: (what) => (before?.has(what) || seen.has(what) ? since(what) : undefined) };
  }

  /** Since when the last pass has seen it, milliseconds since the epoch; undefined when it did not. Begins no pass. @param upgrade uid */
  known(upgrade: string, what: string): number | undefined {
    return this.#seen.get(upgrade)?.get(what);
  }

  /** @param upgrade uid */
  forget(upgrade: string): void {
    this.#seen.delete(upgrade);
  }
}
