/** One pull from a registry with a quirk, into containerd or into a layout. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@flotilla/pace';
import { currentPlatform, type Descriptor, MediaType, RegistryClient } from '@flotilla/registry';
import { type HostileRegistry, QUIRKS, type Quirk, startHostileRegistry } from '@flotilla/registry/testing';
import { createLogger } from '@flotilla/runtime';
import { Progress } from '../src/progress/progress.ts';
import { openCriStore } from '../src/pull/cri-store.ts';
import { openLayoutStore } from '../src/pull/layout-store.ts';
import { pullImages } from '../src/pull/pull-images.ts';
import type { ImageStore } from '../src/pull/store.ts';
import { startMemoryContainerd } from './memory-containerd.ts';
import { UNCAPPED } from './memory-spoke.ts';

/** Where the image goes, whose answer is odd, and for how long. */
export interface QuirkCell {
  readonly store: 'containerd' | 'layout';
  /** A layer that was cut in its middle before has a part in the store. */
  readonly target: 'manifest' | 'configuration' | 'layer' | 'layer that was cut';
  readonly time: 'twice' | 'always';
}

/** Outcome of a cell. */
interface QuirkOutcome {
  /** The store has the image with all its bytes. */
  readonly isPulled: boolean;
  /** Bytes that the registry served, by those of the image. */
  readonly served: number;
  /** The report's words of the failure. */
  readonly failure: string;
  /** Times between an odd answer and the next pull that the runtime was asked for, milliseconds. */
  readonly runtimeAfterMs: readonly number[];
  /** All errors that were reported or logged. */
  readonly said: readonly string[];
  /** Files of the layout that are not what they should be, or the beginning of it. */
  readonly wrongFiles: readonly string[];
}

/** More than one range of the puller. */
const LAYER_BYTES = 5 * 1024 * 1024;
const RETRY_FOR_MS = 900_000;
/** A second of waiting takes a millisecond. */
const quickClock: Clock = {
  now: () => performance.now() * 1_000,
  setTimer: (ms, fn) => systemClock.setTimer(ms / 1_000, fn),
};

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const json = (document: unknown): Buffer => Buffer.from(JSON.stringify(document));
const signal = new AbortController().signal;

/** Serves an image of one layer under tag `1`; returns the bytes of its parts by digest too. */
function serveImage(registry: HostileRegistry) {
  const bytes = new Map<string, Buffer>();
  const put = (content: Buffer, mediaType: string, ...names: string[]): Descriptor => {
    bytes.set(digestOf(content), content);
    return registry.serve(content, mediaType, ...names);
  };
  const layer = put(randomBytes(LAYER_BYTES), MediaType.ociLayerGzip);
  const rootfs = { type: 'layers', diff_ids: [digestOf(Buffer.alloc(0))] };
  const config = put(json({ ...currentPlatform(), rootfs }), MediaType.ociConfig);
  const manifest = put(json({ schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers: [layer] }), MediaType.ociManifest, '1');
  return { layer, config, manifest, bytes };
}

/** Plays a cell. */
export async function playQuirk(name: keyof typeof QUIRKS, { store: kind, target, time }: QuirkCell): Promise<QuirkOutcome> {
  await using stack = new AsyncDisposableStack();
  const registry = stack.use(await startHostileRegistry());
  const { layer, config, manifest, bytes } = serveImage(registry);
  // A header with a digest counts where the name has none.
  const isTagged = name.startsWith('a Docker-Content-Digest');
  if (target === 'layer that was cut') registry.misbehave(layer.digest, once(QUIRKS['a cut in the middle'], 1));
  const document = target === 'manifest' ? (isTagged ? '1' : manifest.digest) : target === 'configuration' ? config.digest : layer.digest;
  const quirk = time === 'always' ? QUIRKS[name] : once(QUIRKS[name], 2);
  let oddAt: number | undefined;
  const runtimeAfterMs: number[] = [];
  registry.misbehave(document, (request) => {
    oddAt = quickClock.now();
    return quirk(request);
  });
  const onPull = (): void => {
    if (oddAt !== undefined) runtimeAfterMs.push(quickClock.now() - oddAt);
  };
  const said: string[] = [];
  const logger = createLogger({
    name: 'test',
    level: 'debug',
    destination: { write: (line: string) => void said.push((JSON.parse(line) as { err?: string }).err ?? '') },
  });
  const storage = registry.host.replace('127.0.0.1', 'localhost');
  const options = { insecureHosts: [registry.host, storage], retry: { maxMs: 2_000 }, clock: quickClock };
  const client = stack.use(new RegistryClient(options));
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-quirks-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const containerd = stack.use(await startMemoryContainerd({ onPull }));
  const common = { signal, clock: systemClock, random: Math.random, logger, retryForMs: 0, credentials: { auths: {} } };
  const sockets = { sockets: [containerd.socket], parallelPulls: 1, fetching: { client, cap: UNCAPPED } };
  const store: ImageStore = stack.use(
    kind === 'layout' ? await openLayoutStore(folder, client) : await openCriStore({ ...common, ...sockets }),
  );
  const pullSpec = `${registry.host}/team/app${isTagged ? ':1' : `@${manifest.digest}`}`;
  const image = { digest: manifest.digest, pullSpecs: [{ pullSpec, referenceDigest: manifest.digest }], layers: [layer] };
  const progress = new Progress(() => quickClock.now());
  progress.expect([image], 0);
  const retries = { retryForMs: RETRY_FOR_MS, progress, signal, clock: quickClock, random: Math.random, logger };
  const { pulled } = await pullImages({ store, images: [image], parallel: 1, ...retries });
  const failure = progress.report().failures[0]?.error ?? '';
  const files = await readLayout(folder, kind);
  const has = kind === 'layout' ? (digest: string) => files.has(digest.slice(7)) : (digest: string) => containerd.blobs.has(digest);
  return {
    isPulled: pulled === 1 && [...bytes.keys()].every(has),
    served: registry.servedBytes / [...bytes.values()].reduce((sum, { length }) => sum + length, 0),
    failure,
    runtimeAfterMs,
    said: [...said, failure],
    wrongFiles: [...files].flatMap(([file, found]) => (isRight(file, found, bytes) ? [] : [file])),
  };
}

/** A quirk for so many requests of it; those that a redirect of it leads to belong to the first. */
function once(quirk: Quirk, times: number): Quirk {
  let left = times;
  return (request) => {
    if (request.path.includes('signed=') && left >= 0) return quirk(request);
    return left-- > 0 && quirk(request);
  };
}

/** Bytes of blobs, and of those that arrive, by the name of the file. */
async function readLayout(folder: string, kind: QuirkCell['store']): Promise<Map<string, Buffer>> {
  if (kind !== 'layout') return new Map();
  const files = new Map<string, Buffer>();
  for (const part of [join('blobs', 'sha256'), 'ingest'])
    for (const file of await readdir(join(folder, part))) files.set(file, await readFile(join(folder, part, file)));
  return files;
}

/** True for a whole blob, or the beginning of one that arrives. */
function isRight(file: string, found: Buffer, bytes: ReadonlyMap<string, Buffer>): boolean {
  const whole = bytes.get(`sha256:${file.replace('.partial', '')}`);
  return whole?.subarray(0, file.endsWith('.partial') ? found.length : undefined).equals(found) === true;
}
