import { errorMessage } from '@flotilla/api';
import { PullerExit, type PullerReport } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import type { Clock, Logger } from '@flotilla/runtime';
import type { PullName, PullSpec } from '@flotilla/software';
import type { Config } from '../config.ts';
import type { ExitCode } from '../errors.ts';
import type { Progress } from '../progress/progress.ts';
import { askStore } from '../pull/pull-images.ts';
import type { ImageStore } from '../pull/store.ts';
import type { ImageCare, StoreUsage } from '../space/space.ts';
import { type CachedImage, CachedRecords } from './record.ts';

/** Dependencies of a proof: it knows no registry. */
interface ProveDeps {
  readonly config: Pick<Config, 'recordDir' | 'pinFor' | 'pinBy' | 'retryForMs'> & { readonly imageCare: ImageCare };
  readonly onCached?: OnCached | undefined;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Images that a node has of a spec, by the names that they were pulled by. */
export interface Cached {
  readonly spec: PullSpec;
  readonly names: readonly PullName[];
}

/** Takes what the node has once all of it is there. */
export type OnCached = (cached: Cached) => void;

const PARALLEL_IMAGES = 8;

/** Compares what the store has now with what a pull of this spec has left, and says what would undo it. */
export async function proveCached(store: ImageStore, spec: PullSpec, deps: ProveDeps): Promise<ExitCode> {
  const { progress, signal, logger, config } = deps;
  const { recordDir, retryForMs, imageCare } = config;
  progress.enter('proving');
  const cached = recordDir === undefined ? undefined : await new CachedRecords(recordDir).read(spec);
  const retries = { ...deps, retryForMs };
  progress.risksAre(findRisks(imageCare, await askStore(() => store.usage(signal), retries)));
  if (!cached) {
    progress.enter('failed', 'nothing is recorded as cached on this node; pull again');
    logger.error({ recordDir }, 'No record of cached images');
    return PullerExit.missing;
  }
  progress.expectCached(cached.length);
  const prove = async (image: CachedImage): Promise<void> => {
    const losses = await Promise.all(image.pullSpecs.map((name) => askStore(() => store.findLoss({ ...image, name }, signal), retries)));
    const lost = losses.findIndex((loss) => loss !== undefined);
    if (lost < 0) return progress.imageProven();
    const pullSpec = image.pullSpecs[lost]?.pullSpec ?? image.digest;
    progress.imageFailed(pullSpec, losses[lost]);
    logger.warn({ image: pullSpec, loss: errorMessage(losses[lost]) }, 'A cached image is missing');
  };
  await mapConcurrently(cached, PARALLEL_IMAGES, prove, { stopAtFailure: true });
  const { imagesDone, imagesTotal } = progress.report();
  const missing = imagesTotal - imagesDone;
  progress.enter(missing === 0 ? 'done' : 'failed', missing === 0 ? undefined : `${missing} of ${imagesTotal} cached images are missing`);
  if (missing === 0) {
    const names = cached.flatMap(({ pullSpecs }) => pullSpecs);
    deps.onCached?.({ spec, names });
    await keepPinned(store, names, deps);
  }
  logger.info({ imagesTotal, missing, risks: progress.report().risks }, 'Proven');
  return missing === 0 ? PullerExit.done : PullerExit.missing;
}

type Risk = NonNullable<PullerReport['risks']>[number];

/** Policies by which a kubelet starts an image that it did not pull itself without asking a registry. */
const TRUSTING = new Set(['NeverVerify', 'NeverVerifyPreloadedImages']);

/** Names what would take cached images away, or keep the kubelet from using them, each with its value. Pure. */
export function findRisks({ gcThresholdPercent, stated }: ImageCare, { sizeBytes, availableBytes }: StoreUsage): Risk[] {
  const used = sizeBytes > 0 ? Math.ceil(100 - (availableBytes * 100) / sizeBytes) : 0;
  const risks: Risk[] = [];
  if (used >= gcThresholdPercent)
    risks.push({ name: 'imageGCHighThresholdPercent', value: `${gcThresholdPercent} %, and ${used} % of the disk are used` });
  if (!stated) return [...risks, { name: 'kubelet configuration', value: 'unknown' }];
  const { maximumAge, credentials } = stated;
  if (maximumAge !== undefined && /[1-9]/.test(maximumAge)) risks.push({ name: 'imageMaximumGCAge', value: maximumAge });
  if (credentials !== undefined && !TRUSTING.has(credentials))
    risks.push({ name: 'imagePullCredentialsVerificationPolicy', value: credentials });
  return risks;
}

/** Dependencies of `keepPinned`. */
interface PinningDeps {
  readonly config: Pick<Config, 'pinFor' | 'pinBy'>;
  readonly progress: Progress;
  readonly logger: Logger;
}

/**
 * Pins what is there, where it is asked for, and removes pins that nobody renewed. A failure is said and fails nothing: the images are there all the
 * same, and headroom keeps them.
 */
export async function keepPinned(store: ImageStore, names: readonly PullName[], deps: PinningDeps): Promise<void> {
  const { config, progress, logger } = deps;
  try {
    await store.pins?.removeExpired();
    if (config.pinFor === undefined || config.pinBy !== 'runtime') return;
    const pinned =
      (await store.pins?.pin(
        names.map(({ pullSpec }) => pullSpec),
        config.pinFor,
      )) ?? 0;
    progress.pinnedAre(pinned);
    if (pinned < names.length) progress.risksAre([{ name: 'pins', value: unpinnedIn(store, pinned, names.length) }]);
    logger.info({ pinned, names: names.length }, 'Pinned');
  } catch (error) {
    if (config.pinFor !== undefined) progress.risksAre([{ name: 'pins', value: errorMessage(error).slice(0, 128) }]);
    logger.warn({ err: errorMessage(error) }, 'Pinning failed');
  }
}

const unpinnedIn = ({ description }: ImageStore, pinned: number, names: number): string =>
  (pinned === 0 ? `none: ${description} pins nothing` : `${pinned} of ${names}`).slice(0, 128);
