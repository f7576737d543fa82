import { stat } from 'node:fs/promises';
import { errorMessage } from '@flotilla/api';
import { mapConcurrently } from '@flotilla/pace';
import { type DockerConfig, findCredential, parseImageReference, withRetries } from '@flotilla/registry';
import type { Clock } from '@flotilla/runtime';
import type { Layer, PullName } from '@flotilla/software';
import { z } from 'zod';
import { PullerErrorCode, StoreError } from '../errors.ts';
import type { StoreUsage } from '../space/space.ts';
import { CriConnection, isAbsent } from './cri-connection.ts';
import { containerdNamespace, Protocol } from './cri-protocol.ts';
import { measure } from './layout-store.ts';
import type { ImageStore } from './store.ts';

const VersionAnswer = z.object({ runtimeName: z.string(), runtimeVersion: z.string(), runtimeApiVersion: z.string() });
const StatusAnswer = z.object({
  image: z.object({ id: z.string(), repoTags: z.array(z.string()), repoDigests: z.array(z.string()) }).nullish(),
});
const PullAnswer = z.object({ imageRef: z.string() });
const FsAnswer = z.object({ imageFilesystems: z.array(z.object({ fsId: z.object({ mountpoint: z.string() }).nullish() })) });
const InfoAnswer = z.object({ info: z.object({ digest: z.string(), size: z.number() }).nullish() });
const StatusesAnswer = z.object({ statuses: z.array(z.object({ ref: z.string(), offset: z.number() })) });

const CALL_MS = 30_000;
/** Short, because one of several sockets may belong to a server that never answers. */
const VERSION_MS = 10_000;
const OPEN_RETRY_MS = 30_000;
/** Base time-out of a pull; its bytes add time at the slowest rate that counts as alive. */
const PULL_BASE_MS = 10 * 60_000;
const SLOWEST_BYTES_PER_SECOND = 16 * 1024;
const PARALLEL_INFO = 16;

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
      return new CriStore(connection, options, `${version.runtimeName} ${version.runtimeVersion} at ${socket}`);
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

class CriStore implements ImageStore {
  /** A runtime has its own mirrors and credentials. */
  readonly findsImages = true;
  readonly description: string;
  readonly #connection: CriConnection;
  readonly #options: CriStoreOptions;
  /** Only containerd has the content API; CRI reports no bytes in flight. */
  #hasContent = true;

  constructor(connection: CriConnection, options: CriStoreOptions, description: string) {
    this.#connection = connection;
    this.#options = options;
    this.description = description;
  }

  async has({ pullSpec, referenceDigest }: PullName, signal: AbortSignal): Promise<boolean> {
    const { image } = await this.#connection.call(Protocol.imageStatus, { image: { image: pullSpec } }, StatusAnswer, {
      signal,
      deadlineMs: CALL_MS,
    });
    if (!image) return false;
    // a tag may have moved since its pull
    return pullSpec.includes('@') || image.repoDigests.some((name) => name.endsWith(`@${referenceDigest}`));
  }

  async pull({ pullSpec }: PullName, layers: readonly Layer[], signal: AbortSignal): Promise<void> {
    const bytes = layers.reduce((sum, { size }) => sum + size, 0);
    const deadlineMs = PULL_BASE_MS + (bytes / SLOWEST_BYTES_PER_SECOND) * 1_000;
    await this.#connection.call(Protocol.pullImage, { image: { image: pullSpec }, auth: this.#auth(pullSpec) }, PullAnswer, {
      signal,
      deadlineMs,
    });
  }

  #auth(pullSpec: string): object | undefined {
    const { host, repository } = parseImageReference(pullSpec);
    const credential = findCredential(this.#options.credentials, host, repository);
    if (!credential) return undefined;
    const { username, password, identityToken } = credential;
    return identityToken ? { identityToken } : { username, password };
  }

  async usage(signal: AbortSignal): Promise<StoreUsage> {
    const { imageFilesystems } = await this.#connection.call(Protocol.imageFsInfo, {}, FsAnswer, { signal, deadlineMs: CALL_MS });
    const candidates = [this.#options.storePath, imageFilesystems[0]?.fsId?.mountpoint];
    for (const path of candidates) if (path && (await stat(path).catch(() => undefined))) return measure(path);
    // without a mount of the store, the pod's root is a snapshot on the same file system
    return measure('/');
  }

  async layerBytes(layers: readonly Layer[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    if (!this.#hasContent) return found;
    try {
      const ask = async ({ digest }: Layer): Promise<void> => {
        const bytes = await this.#storedBytes(digest, signal);
        if (bytes !== undefined) found.set(digest, bytes);
      };
      await mapConcurrently(layers, PARALLEL_INFO, ask, { stopAtFailure: true });
      for (const [digest, bytes] of await this.#ingesting(signal)) if (!found.has(digest)) found.set(digest, bytes);
    } catch (error) {
      if (!isAbsent(error, 'UNIMPLEMENTED')) throw error;
      this.#hasContent = false;
    }
    return found;
  }

  async #storedBytes(digest: string, signal: AbortSignal): Promise<number | undefined> {
    try {
      const options = { signal, deadlineMs: CALL_MS, metadata: containerdNamespace() };
      return (await this.#connection.call(Protocol.contentInfo, { digest }, InfoAnswer, options)).info?.size;
    } catch (error) {
      if (isAbsent(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async #ingesting(signal: AbortSignal): Promise<[string, number][]> {
    const options = { signal, deadlineMs: CALL_MS, metadata: containerdNamespace() };
    const { statuses } = await this.#connection.call(Protocol.contentStatuses, { filters: [] }, StatusesAnswer, options);
    // refs read `layer-sha256:…`
    return statuses.flatMap(({ ref, offset }) => {
      const digest = /sha256:[a-f0-9]{64}$/.exec(ref)?.[0];
      return digest ? [[digest, offset] as [string, number]] : [];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection[Symbol.dispose]();
  }
}
