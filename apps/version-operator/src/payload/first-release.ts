import { errorMessage } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import {
  checkPreconditions,
  type NamedRelease,
  releaseNotReadStatus,
  resolveDesiredUpdate,
  summarizePreconditions,
  UpdateError,
} from '@flotilla/release';
import { digestOfPullSpec } from '@flotilla/release/signatures';
import { type Client, type Clock, type Logger, pause, type RefusedValues, replaceStatus } from '@flotilla/runtime';
import type { ReleaseFiles } from './retrieve-release.ts';

/** The release that an operator is started with. */
export interface GivenRelease {
  /** Pull spec. That of a payload which came without one is asked of the cluster. */
  readonly image: (clusterVersion: ClusterVersion | undefined) => string;
  /** Its files, from their beginning at each call. */
  readonly read: (signal: AbortSignal) => ReleaseFiles | Promise<ReleaseFiles>;
  /** It lies in a folder: what is wrong with it does not mend itself. */
  readonly isFolder: boolean;
}

interface FirstRelease extends NamedRelease {
  readonly isGiven: boolean;
  readonly verified: boolean;
}

/**
 * The release that an operator begins with: the one that the cluster runs by its history, because the one that the operator was started with is
 * older after an update. The given one counts in a cluster without a history, and where it is the one that is run or asked for. Pure.
 */
export function firstRelease(clusterVersion: ClusterVersion | undefined, given: string): FirstRelease {
  const [newest] = clusterVersion?.status?.history ?? [];
  const running = runningRelease(clusterVersion);
  const asked = clusterVersion && resolveDesiredUpdate(clusterVersion)?.image;
  const isRunning = newest !== undefined && newest.image === given;
  if (running && !isRunning && asked !== given) return running;
  return { version: isRunning ? newest.version : '', image: given, isGiven: true, verified: isRunning && newest.verified };
}

/** The release that the cluster runs by its history; undefined for one without a digest, which cannot be found again. */
function runningRelease(clusterVersion: ClusterVersion | undefined): FirstRelease | undefined {
  const [newest] = clusterVersion?.status?.history ?? [];
  if (!newest || digestOfPullSpec(newest.image) === '') return undefined;
  return { version: newest.version, image: newest.image, isGiven: false, verified: newest.verified };
}

interface FirstReleaseOptions {
  readonly given: GivenRelease;
  /** Files of a release that is known by its digest, of a cache or a registry. */
  readonly reopen: (image: string, signal: AbortSignal) => Promise<ReleaseFiles>;
  readonly clusterVersion: () => ClusterVersion | undefined;
  /** The ClusterVersion with what speaks against updates now: its stored status is of before the start. */
  readonly judged: () => ClusterVersion | undefined;
  /** The given release counts, whatever the cluster runs: nothing is written. */
  readonly isObserving: boolean;
  readonly client: Client;
  /** Values of the status that the server refused. */
  readonly refused: RefusedValues;
  readonly clock: Clock;
  readonly logger: Logger;
}

const AGAIN_MS = { first: 1_000, longest: 30_000 } as const;

/**
 * Reads the release that an operator begins with, again and again until that is done: a registry that is away at the start comes back. The
 * ClusterVersion says why it has not begun.
 * @throws what the signal aborts with, and what a given folder is refused for
 */
export async function readFirstRelease<T extends { readonly release: Pick<NamedRelease, 'version'> }>(
  options: FirstReleaseOptions,
  load: (files: ReleaseFiles, first: FirstRelease) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { given, clusterVersion, isObserving, clock, logger } = options;
  for (let waitMs: number = AGAIN_MS.first; ; waitMs = Math.min(waitMs * 2, AGAIN_MS.longest)) {
    const name = given.image(clusterVersion());
    let first = firstRelease(isObserving ? undefined : clusterVersion(), name);
    try {
      const loaded = await load(await open(first, name, options, signal), first);
      const running = isObserving ? undefined : runningInstead(first, loaded.release.version, options);
      if (!running) return loaded;
      first = running;
      return await load(await open(first, name, options, signal), first);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      if (first.isGiven && given.isFolder) throw cause;
      logger.warn({ err: cause, release: first.image, againInMs: waitMs }, 'The release to begin with cannot be read');
      if (!isObserving) await tell(first, cause, options);
      await pause(clock, waitMs, signal);
    }
  }
}

/**
 * The release that the cluster runs, where it is begun with although the given one is at hand: an update to that is refused, or no longer asked
 * for. Beginning with it would go past the preconditions.
 */
function runningInstead(first: FirstRelease, version: string, options: FirstReleaseOptions): FirstRelease | undefined {
  const object = options.clusterVersion();
  const running = runningRelease(object);
  if (!object || !running || !first.isGiven || running.image === first.image) return undefined;
  const asked = resolveDesiredUpdate(object);
  if (asked?.image !== first.image) return running;
  // deletions that are under way are in the stored status alone
  const [error] = [object, options.judged() ?? object].flatMap(
    (judged) => summarizePreconditions(checkPreconditions({ clusterVersion: judged, target: version }), asked.force).error ?? [],
  );
  if (!error) return undefined;
  options.logger.warn({ err: error, release: first.image, running: running.image }, 'Beginning with the release that the cluster runs');
  return running;
}

/** A given release of the same digest is the same one under another name, which may be reachable where the first is not. */
async function open(first: FirstRelease, given: string, options: FirstReleaseOptions, signal: AbortSignal): Promise<ReleaseFiles> {
  if (first.isGiven) return options.given.read(signal);
  const isSame = digestOfPullSpec(given) === digestOfPullSpec(first.image);
  return options.reopen(first.image, signal).catch((error: unknown) => {
    if (!isSame) throw error;
    return options.given.read(signal);
  });
}

async function tell(
  first: FirstRelease,
  cause: unknown,
  { clusterVersion, client, refused, clock, logger }: FirstReleaseOptions,
): Promise<void> {
  const object = clusterVersion();
  if (!object) return;
  const message = `Unable to read the release to begin with, nothing is changed until it is there: ${errorMessage(cause)}`;
  const error = new UpdateError({ reason: 'UpdatePayloadRetrievalFailed', message, cause });
  const status = releaseNotReadStatus(object, first, error, clock.now());
  await replaceStatus(client, ClusterVersion, object, status, { refused }).catch((err: unknown) =>
    logger.warn({ err }, 'The ClusterVersion could not be told why nothing has begun'),
  );
}

/**
 * The pull spec of a payload that came as a folder without one: that which the cluster asks for under its version or has had, else one that
 * nobody can pull.
 */
export function imageOfVersion(version: string, clusterVersion: ClusterVersion | undefined): string {
  const { spec, status } = clusterVersion ?? {};
  const known = [spec?.desiredUpdate, status?.desired, ...(status?.history ?? []), ...(status?.availableUpdates ?? [])];
  return known.find((release) => release?.version === version && release.image)?.image ?? `release.invalid/release:${version}`;
}
