import { errorMessage } from '@flotilla/api';
import type { PullerPhase, PullerReport } from '@flotilla/api/ran';
import { type Layer, layerListDigest, packBits, toLayerList, type WantedImage } from '@flotilla/software';

/** Window of the rate, in milliseconds. */
const RATE_WINDOW_MS = 10_000;
/** Milliseconds before there is a rate: the first bytes of a pull are only manifests. */
const LEAST_MEASURED_MS = 3_000;
const MAX_FAILURES = 10;
const MAX_NAME = 256;
/** Characters of an error: room for the causes of a runtime and of our own search. */
const MAX_ERROR = 512;
/** Characters kept of a long error's start, where we put the cause; its end, where runtimes put it, gets the rest. */
const KEPT_HEAD = 208;

/** Tracks the pull: images by their verdict, bytes by layer, each layer counted once. No I/O. */
export class Progress {
  readonly #now: () => number;
  readonly #node: string | undefined;
  #phase: PullerPhase = 'listing';
  #message: string | undefined;
  /** Failure that is tried again, and the layers whose growth ends it; empty: that of any. */
  #trouble: { readonly text: string; readonly layers: ReadonlySet<string> } | undefined;
  readonly #sizes = new Map<string, number>();
  readonly #have = new Map<string, number>();
  /** Time of a layer's last growth. */
  readonly #grewAt = new Map<string, number>();
  readonly #failures = new Map<string, string>();
  /** Digest of the layer list, and its layers in order. */
  #list: { readonly digest: string; readonly layers: readonly Layer[] } | undefined;
  #imagesTotal = 0;
  #imagesDone = 0;
  #bytesTotal = 0;
  #bytesDone = 0;
  #imagesUnsized = 0;
  #bytesForList = 0;
  #fetchedBy: PullerReport['fetchedBy'];
  #imagesByRuntime = 0;
  #risks: PullerReport['risks'];
  #namesPinned: number | undefined;
  readonly #samples: { at: number; bytes: number }[] = [];

  /** @param node name of the node that the reports are about */
  constructor(now: () => number, node?: string) {
    this.#now = now;
    this.#node = node;
  }

  enter(phase: PullerPhase, message?: string): void {
    this.#phase = phase;
    this.#message = message;
    this.#trouble = undefined;
    // bytes from before the pull are no rate
    if (phase === 'pulling') this.#samples.splice(0, this.#samples.length, { at: this.#now(), bytes: this.#bytesDone });
  }

  /** Notes a failure after which the same is tried again: until that gets on, the reports name it. */
  triesAgain(
    error: unknown,
    { pullSpec = '', layers = [] }: { readonly pullSpec?: string; readonly layers?: readonly Layer[] } = {},
  ): void {
    this.#trouble = { text: `tries again: ${shorten(errorMessage(error), pullSpec)}`, layers: new Set(layers.map(({ digest }) => digest)) };
  }

  /** Sets the expected images; unresolved ones count as images too. A later list takes the place of the former, and what has arrived counts on. */
  expect(images: readonly WantedImage[], unresolved: number): void {
    this.#imagesDone = 0;
    this.#failures.clear();
    this.#imagesTotal = images.length + unresolved;
    this.#imagesUnsized = images.filter(({ handedOver }) => handedOver !== undefined).length;
    const list = toLayerList(images.filter(({ layers }) => layers.length > 0));
    this.#list = { digest: layerListDigest(list), layers: list.layers };
    this.#sizes.clear();
    for (const { digest, size } of list.layers) this.#sizes.set(digest, size);
    this.#bytesTotal = list.layers.reduce((sum, { size }) => sum + size, 0);
    this.#bytesDone = list.layers.reduce((sum, { digest, size }) => sum + Math.min(this.#have.get(digest) ?? 0, size), 0);
  }

  /** Sets the number of images of a proof. */
  expectCached(images: number): void {
    this.#imagesTotal = images;
  }

  /** Counts an image that a proof found whole. */
  imageProven(): void {
    this.#imagesDone++;
  }

  /** Adds what would undo the cache. */
  risksAre(risks: NonNullable<PullerReport['risks']>): void {
    this.#risks = [...(this.#risks ?? []), ...risks];
  }

  /** Sets the number of names that the runtime says are pinned. */
  pinnedAre(names: number): void {
    this.#namesPinned = names;
  }

  /** Sets who fetches blobs for this store. */
  fetchBy(fetchedBy: NonNullable<PullerReport['fetchedBy']>): void {
    this.#fetchedBy = fetchedBy;
  }

  /** Counts a pull whose blobs the runtime fetched. */
  imageFetched(by: NonNullable<PullerReport['fetchedBy']>): void {
    if (by === 'runtime') this.#imagesByRuntime++;
  }

  /** Sets the bytes read for the list that the store fetches again with their images. */
  readForList(bytes: number): void {
    this.#bytesForList = bytes;
  }

  /** Bytes and images outside the plan's bytes. */
  get uncounted(): Pick<PullerReport, 'imagesUnsized' | 'bytesForList'> {
    return { imagesUnsized: this.#imagesUnsized, bytesForList: this.#bytesForList };
  }

  /** Records bytes of stored or arriving layers. A layer never shrinks, because a broken transfer resumes. */
  sawLayers(bytes: ReadonlyMap<string, number>): void {
    for (const [digest, have] of bytes) {
      const size = this.#sizes.get(digest);
      const known = this.#have.get(digest) ?? 0;
      if (size === undefined || have <= known) continue;
      const next = Math.min(have, size);
      this.#have.set(digest, next);
      this.#grewAt.set(digest, this.#now());
      this.#getsOn([digest]);
      this.#bytesDone += next - known;
    }
  }

  /** Returns the last growth of these layers; undefined before any. */
  lastGrowth(layers: readonly Layer[]): number | undefined {
    const times = layers.flatMap(({ digest }) => this.#grewAt.get(digest) ?? []);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** Counts an image that the store has under all its names. */
  imageDone({ layers }: WantedImage): void {
    this.#imagesDone++;
    this.#getsOn(layers.map(({ digest }) => digest));
    this.sawLayers(new Map(layers.map(({ digest, size }) => [digest, size])));
  }

  imageFailed(pullSpec: string, error: unknown): void {
    this.#failures.set(pullSpec, shorten(errorMessage(error), pullSpec));
  }

  /** Compressed bytes in the store, and missing ones; each layer once. */
  get bytes(): { cached: number; missing: number } {
    return { cached: this.#bytesDone, missing: this.#bytesTotal - this.#bytesDone };
  }

  report(): PullerReport {
    const now = this.#now();
    const message = this.#message ?? this.#trouble?.text;
    return {
      phase: this.#phase,
      imagesDone: this.#imagesDone,
      imagesTotal: this.#imagesTotal,
      bytesDone: this.#bytesDone,
      bytesTotal: this.#bytesTotal,
      bytesPerSecond: this.#rate(now),
      ...this.uncounted,
      ...(this.#fetchedBy && { fetchedBy: this.#fetchedBy }),
      ...(this.#fetchedBy === 'puller' && { imagesByRuntime: this.#imagesByRuntime }),
      ...(this.#list && { layers: { list: this.#list.digest, held: packBits(this.#list.layers.map((layer) => this.#isWhole(layer))) } }),
      failures: [...this.#failures].slice(0, MAX_FAILURES).map(([image, error]) => ({ image: image.slice(0, MAX_NAME), error })),
      ...(this.#node !== undefined && { node: this.#node }),
      ...(this.#risks !== undefined && { risks: this.#risks }),
      ...(this.#namesPinned !== undefined && { namesPinned: this.#namesPinned }),
      ...(message === undefined ? {} : { message }),
      at: new Date(now).toISOString(),
    };
  }

  #getsOn(digests: readonly string[]): void {
    const { layers } = this.#trouble ?? {};
    if (layers && (layers.size === 0 || digests.some((digest) => layers.has(digest)))) this.#trouble = undefined;
  }

  #isWhole({ digest, size }: Layer): boolean {
    return (this.#have.get(digest) ?? -1) >= size;
  }

  #rate(now: number): number {
    if (this.#samples.length === 0) return 0;
    this.#samples.push({ at: now, bytes: this.#bytesDone });
    while (this.#samples.length > 2 && (this.#samples[1]?.at ?? now) <= now - RATE_WINDOW_MS) this.#samples.shift();
    const [first] = this.#samples;
    if (!first || now - first.at < LEAST_MEASURED_MS) return 0;
    return Math.round(((this.#bytesDone - first.bytes) * 1_000) / (now - first.at));
  }
}

/** Shortens a long error: first drops the image's name, which runtimes repeat at every step and which stands beside it, then the middle. */
function shorten(error: string, pullSpec: string): string {
  if (error.length <= MAX_ERROR) return error;
  const digest = /sha256:[a-f0-9]{64}$/.exec(pullSpec)?.[0];
  const names = [pullSpec, digest ?? ''].filter((name) => name !== '');
  const text = names.reduce((rest, name) => rest.replaceAll(name, '…'), error);
  return text.length <= MAX_ERROR ? text : `${text.slice(0, KEPT_HEAD)}…${text.slice(KEPT_HEAD + 1 - MAX_ERROR)}`;
}

/** Renders the report as JSON of at most `maxBytes`: drops the layers, then failures from the end, then cuts the message. */
export function fitReport({ layers, ...report }: PullerReport, maxBytes: number): string {
  const size = (text: string): number => Buffer.byteLength(text);
  let text = JSON.stringify({ ...report, layers });
  if (size(text) > maxBytes) text = JSON.stringify(report);
  for (let keep = report.failures.length - 1; size(text) > maxBytes && keep >= 0; keep--)
    text = JSON.stringify({ ...report, failures: report.failures.slice(0, keep) });
  for (let length = 512; size(text) > maxBytes && length >= 1; length = Math.floor(length / 2))
    text = JSON.stringify({ ...report, failures: [], message: report.message?.slice(0, length) });
  return text;
}
