/** Progress of upgrades while somebody looks: the server tells what is, and a plot wants what was. */
import type { UpgradeRow } from '@flotilla/api/answers';

/** Progress of an upgrade at a time. */
export interface Sample {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly done: number;
  readonly failed: number;
  readonly cached: number;
  readonly bytesDone: number | undefined;
  readonly bytesTotal: number | undefined;
  readonly bytesPerSecond: number | undefined;
}

/** Between two samples. */
const EVERY_MS = 2_000;
/** Samples that are kept; then every second one is dropped, and the times between them double. */
const MOST = 600;

/** Samples of each upgrade that goes on. */
export class History {
  readonly #samples = new Map<string, Sample[]>();
  readonly #everyMs = new Map<string, number>();

  of(upgrade: string): readonly Sample[] {
    return this.#samples.get(upgrade) ?? [];
  }

  /** Takes a sample of each upgrade whose last one is old enough. @returns those of which one was taken */
  note(rows: readonly UpgradeRow[], now: number): Set<string> {
    const there = new Set(rows.map(({ key }) => key));
    for (const key of this.#samples.keys()) if (!there.has(key)) this.#samples.delete(key);
    return new Set(rows.flatMap((row) => (this.#noteOne(row, now) ? [row.key] : [])));
  }

  #noteOne(row: UpgradeRow, at: number): boolean {
    const { key } = row;
    const samples = this.#samples.get(key) ?? [];
    this.#samples.set(key, samples);
    const every = this.#everyMs.get(key) ?? EVERY_MS;
    const last = samples.at(-1);
    const next = sampleOf(row, at);
    if (last && (at - last.at < every || isSame(last, next))) return false;
    samples.push(next);
    if (samples.length <= MOST) return true;
    this.#samples.set(
      key,
      samples.filter((_, index) => index % 2 === 0),
    );
    this.#everyMs.set(key, every * 2);
    return true;
  }
}

function sampleOf({ clusters, cached }: UpgradeRow, at: number): Sample {
  return {
    at,
    done: clusters.done,
    failed: clusters.failed,
    cached: cached?.done ?? 0,
    bytesDone: cached?.bytesDone.value,
    bytesTotal: cached?.bytesTotal.value,
    bytesPerSecond: cached?.bytesPerSecond.value,
  };
}

/** Nothing has moved: a straight line needs no more points. */
const isSame = (a: Sample, b: Sample): boolean =>
  a.done === b.done &&
  a.failed === b.failed &&
  a.cached === b.cached &&
  a.bytesDone === b.bytesDone &&
  a.bytesTotal === b.bytesTotal &&
  a.bytesPerSecond === b.bytesPerSecond;
