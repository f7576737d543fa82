import { stat } from 'node:fs/promises';
import { errorMessage } from '@flotilla/api';
import { Semaphore } from '@flotilla/pace';
import { type DockerConfig, findCredential, parseImageReference, type RegistryClient, withRetries } from '@flotilla/registry';
import type { Clock, Logger } from '@flotilla/runtime';
import type { Layer, PullName, StoredContent } from '@flotilla/software';
import { z } from 'zod';
import { ContentStore } from '../content/content-store.ts';
import { ContentWay, snapshotterOf } from '../content/content-way.ts';
import { dropIngests } from '../content/ingest.ts';
import { Pins } from '../content/pins.ts';
import { DamageCheck, dropBlobs, findLoss, type NeededImage, readDigests } from '../content/presence.ts';
import { PullerErrorCode, StoreError, withOwnFailure } from '../errors.ts';
import type { LinkCap } from '../link-cap.ts';
import type { BlobSharing } from '../nodes/peer-blobs.ts';
import { CriConnection, isRefusal } from '../socket/connection.ts';
import { Protocol } from '../socket/protocol.ts';
import type { StoreUsage } from '../space/space.ts';
import { measure } from './layout-store.ts';
import type { FetchedBy, ImageStore } from './store.ts';
import { readBlobs, readContainerd, readStorage } from './stored-content.ts';

const VersionAnswer = z.object({ runtimeName: z.string(), runtimeVersion: z.string(), runtimeApiVersion: z.string() });
const PullAnswer = z.object({ imageRef: z.string() });
const FsAnswer = z.object({ imageFilesystems: z.array(z.object({ fsId: z.object({ mountpoint: z.string() }).nullish() })) });

/** Name by which containerd calls itself. */
const CONTAINERD = 'containerd';

const CALL_MS = 30_000;
/** Short, because one of several sockets may belong to a server that never answers. */
const VERSION_MS = 10_000;
const OPEN_RETRY_MS = 30_000;
/** Base time-out of a pull; its bytes add time at the slowest rate that counts as alive. */
const PULL_BASE_MS = 10 * 60_000;
const SLOWEST_BYTES_PER_SECOND = 16 * 1024;

/** Dependencies of a CRI store. */
interface CriStoreOptions {
  /** Sockets in the order of trial. */
  readonly sockets: readonly string[];
  readonly credentials: DockerConfig;
  /** Path on the measured file system; default: the runtime's image folder. */
  readonly storePath?: string | undefined;
  readonly signal: AbortSignal;
  /** Milliseconds of waiting for a runtime that does not answer, at most 30 s. */
  readonly retryForMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Fetches blobs into containerd's content store; absent: the runtime fetches them. */
  readonly fetching?: { readonly client: RegistryClient; readonly cap: LinkCap } | undefined;
  /** Pulls by the runtime at once. */
  readonly parallelPulls: number;
  /** Other nodes of the spoke. */
  readonly sharing?: BlobSharing | undefined;
}

/**
 * Opens the image service of the node's runtime, by the first socket that answers; waits for a runtime that restarts.
 * @throws StoreError when no socket answers
 */
export async function openCriStore(options: CriStoreOptions): Promise<ImageStore> {
  const retryForMs = Math.min(options.retryForMs, OPEN_RETRY_MS);
  const isTransient = (error: unknown): boolean => error instanceof StoreError && error.transient;
  return withRetries(() => openFirst(options), { ...options, retryForMs, isTransient, refusedTries: 1 });
}

async function openFirst(options: CriStoreOptions): Promise<ImageStore> {
  const failures: unknown[] = [];
  for (const socket of options.sockets) {
    if (!(await stat(socket).catch(() => undefined))?.isSocket()) continue;
    const connection = new CriConnection(socket);
    try {
      const version = await connection.call(Protocol.version, {}, VersionAnswer, { signal: options.signal, deadlineMs: VERSION_MS });
      const isContainerd = version.runtimeName === CONTAINERD;
      const snapshotter = isContainerd ? await findSnapshotter(connection, options.signal) : undefined;
      const content = isContainerd ? await openContent(connection, options, snapshotter) : undefined;
      await options.sharing?.open(content?.store);
      const runtime = `${version.runtimeName} ${version.runtimeVersion}`;
      const description = `${runtime} at ${socket}`;
      options.logger.info({ store: description, fetchedBy: content ? 'puller' : 'runtime' }, 'Opened the image store');
      return new CriStore(connection, { ...options, content, snapshotter, description, runtime });
    } catch (error) {
      connection[Symbol.dispose]();
      options.signal.throwIfAborted();
      failures.push(error);
    }
  }
  const problem =
    failures.length > 0
      ? `no runtime answers: ${failures.map(errorMessage).join('; ')}`
      : `there is no runtime socket at ${options.sockets.join(' or ')}; mount the runtime's socket there or set CRI_SOCKET`;
  throw new StoreError(PullerErrorCode.storeUnreachable, problem, { transient: true, cause: failures[0] });
}

/** The content store and the images' way into it. */
interface OpenContent {
  readonly store: ContentStore;
  readonly way: ContentWay;
}

/** Opens containerd's content store; undefined when nothing is to be fetched, or when it refuses. */
async function openContent(
  connection: CriConnection,
  options: CriStoreOptions,
  snapshotter: string | undefined,
): Promise<OpenContent | undefined> {
  const { fetching, sharing, signal, clock, logger } = options;
  if (!fetching) return undefined;
  const deps = { connection, signal, clock, logger, sharing, client: fetching.client };
  const content = new ContentStore(deps);
  try {
    await content.probe();
    return { store: content, way: new ContentWay({ ...deps, content, snapshotter, cap: fetching.cap }) };
  } catch (error) {
    signal.throwIfAborted();
    // A runtime that restarts is asked again.
    if (isRefusal(error, 'UNAVAILABLE')) throw error;
    logger.warn({ err: errorMessage(error) }, 'The runtime takes no content; it fetches the images itself');
    return undefined;
  }
}

/** Name of containerd's snapshotter; undefined where it does not say. */
async function findSnapshotter(connection: CriConnection, signal: AbortSignal): Promise<string | undefined> {
  try {
    return snapshotterOf((await imageFolder(connection, signal)) ?? '');
  } catch (error) {
    if (isRefusal(error, 'UNIMPLEMENTED')) return undefined;
    throw error;
  }
}

/** Folder of the runtime's images. */
async function imageFolder(connection: CriConnection, signal: AbortSignal): Promise<string | undefined> {
  const { imageFilesystems } = await connection.call(Protocol.imageFsInfo, {}, FsAnswer, { signal, deadlineMs: CALL_MS });
  return imageFilesystems[0]?.fsId?.mountpoint;
}

/** Documents and blobs that a pull needs. */
interface PulledParts {
  readonly referenceDigest: string;
  readonly layers: readonly Layer[];
}

/** True when the runtime says that the registry does not go on from where a layer ended. */
const isRangeRefused = (failure: unknown): boolean =>
  failure instanceof StoreError && /\b416\b|range not satisfiable|unhandled content range/i.test(failure.message);

/** Options, and what the runtime said of itself. */
type OpenedOptions = CriStoreOptions & { readonly snapshotter: string | undefined };

class CriStore implements ImageStore {
  /** A runtime has its own mirrors and credentials. */
  readonly findsImages = true;
  readonly description: string;
  readonly runtime: string;
  readonly pins: Pins | undefined;
  readonly #connection: CriConnection;
  readonly #options: OpenedOptions;
  readonly #content: OpenContent | undefined;
  /** Blobs that are shorter than they should be. */
  readonly #cut = new Set<string>();
  readonly #pulls: Semaphore;
  readonly #damage: DamageCheck;
  /** Only containerd has the content API; CRI reports no bytes in flight. */
  readonly #isContainerd: boolean;

  constructor(
    connection: CriConnection,
    {
      content,
      description,
      runtime,
      ...options
    }: OpenedOptions & { content: OpenContent | undefined; description: string; runtime: string },
  ) {
    this.#connection = connection;
    this.#options = options;
    this.#pulls = new Semaphore(options.parallelPulls);
    this.#content = content;
    this.#damage = new DamageCheck({ ...options, connection }, options.logger);
    this.description = description;
    this.runtime = runtime;
    this.#isContainerd = runtime.startsWith(`${CONTAINERD} `);
    this.pins = options.snapshotter === undefined ? undefined : new Pins({ ...options, connection });
  }

  get fetchedBy(): FetchedBy {
    return this.#content ? 'puller' : 'runtime';
  }

  get listContent(): ContentStore | undefined {
    return this.#content?.store;
  }

  async findLoss(image: NeededImage, signal: AbortSignal): Promise<string | undefined> {
    const asked = { connection: this.#connection, signal };
    try {
      return await findLoss({ ...asked, snapshotter: this.#options.snapshotter, onCut: (digest) => this.#cut.add(digest) }, image);
    } catch (error) {
      // A runtime without these services is asked for names alone.
      if (!isRefusal(error, 'UNIMPLEMENTED')) throw error;
      return await findLoss({ ...asked, snapshotter: undefined }, image);
    }
  }

  digestsOf(pullSpec: string, signal: AbortSignal): Promise<readonly string[]> {
    return readDigests({ connection: this.#connection, signal }, pullSpec);
  }

  async dropCut(signal: AbortSignal): Promise<void> {
    if (this.#cut.size === 0) return;
    this.#options.logger.warn({ blobs: [...this.#cut].slice(0, 10), count: this.#cut.size }, 'Removing blobs that were cut');
    await dropBlobs({ connection: this.#connection, signal }, this.#cut);
    this.#cut.clear();
  }

  async pull({ pullSpec, referenceDigest }: PullName, layers: readonly Layer[], signal: AbortSignal): Promise<FetchedBy> {
    // An image that our own search did not find is the runtime's.
    const way = layers.length > 0 ? this.#content?.way : undefined;
    const left = await way?.fill(pullSpec, layers);
    const bytes = layers.reduce((sum, { size }) => sum + size, 0);
    const deadlineMs = PULL_BASE_MS + (bytes / SLOWEST_BYTES_PER_SECOND) * 1_000;
    const request = { image: { image: pullSpec }, auth: this.#auth(pullSpec) };
    try {
      await this.#pulls.run(() => this.#connection.call(Protocol.pullImage, request, PullAnswer, { signal, deadlineMs }));
    } catch (error) {
      const failure = await this.#explain(error, { referenceDigest, layers });
      throw left ? withOwnFailure(failure, left.failure) : failure;
    }
    return way && !left ? 'puller' : 'runtime';
  }

  /** Takes out of the store what may have failed a pull: parts of layers that the registry does not go on from, and damaged blobs. */
  async #explain(failure: unknown, { referenceDigest, layers }: PulledParts): Promise<unknown> {
    if (!this.#isContainerd) return failure;
    try {
      if (isRangeRefused(failure)) await dropIngests({ ...this.#options, connection: this.#connection }, layers);
      return await this.#damage.explain(failure, [referenceDigest, ...layers.map(({ digest }) => digest)]);
    } catch (error) {
      this.#options.signal.throwIfAborted();
      this.#options.logger.warn({ err: errorMessage(error) }, 'Mending what failed a pull failed');
      return failure;
    }
  }

  async release(): Promise<void> {
    await this.#content?.store.release();
  }

  #auth(pullSpec: string): object | undefined {
    const { host, repository } = parseImageReference(pullSpec);
    const credential = findCredential(this.#options.credentials, host, repository);
    if (!credential) return undefined;
    const { username, password, identityToken } = credential;
    return identityToken ? { identityToken } : { username, password };
  }

  async usage(signal: AbortSignal): Promise<StoreUsage> {
    const candidates = [this.#options.storePath, await imageFolder(this.#connection, signal)];
    for (const path of candidates) if (path && (await stat(path).catch(() => undefined))) return measure(path);
    // without a mount of the store, the pod's root is a snapshot on the same file system
    return measure('/');
  }

  async stored(images: readonly { readonly layers: readonly Layer[] }[], signal: AbortSignal): Promise<StoredContent> {
    const folder = await imageFolder(this.#connection, signal);
    const asked = { connection: this.#connection, signal };
    return this.#isContainerd ? readContainerd(asked, images, snapshotterOf(folder ?? '')) : readStorage(folder);
  }

  async layerBytes(layers: readonly Layer[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    if (!this.#isContainerd) return new Map();
    const asked = { connection: this.#connection, signal };
    const { blobs, partial } = await readBlobs(asked, new Set(layers.map(({ digest }) => digest)));
    return new Map([...partial, ...layers.flatMap(({ digest, size }) => (blobs.has(digest) ? [[digest, size] as const] : []))]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection[Symbol.dispose]();
  }
}
