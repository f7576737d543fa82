import { errorMessage } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import type { Clock, Logger } from '@flotilla/runtime';
import type { ImageSource, ListContent, PullSpec } from '@flotilla/software';
import { allExcludedSentence, buildImageList, handOver, type ImageList, requiredBytes } from '@flotilla/software';
import type { Config } from './config.ts';
import { type ExitCode, exitCodeOf, exitCodeOfPull, NoSpaceError } from './errors.ts';
import type { Progress } from './progress/progress.ts';
import { keepPinned, type OnCached, proveCached } from './proof/prove.ts';
import { CachedRecords } from './proof/record.ts';
import { askStore, findMissing, pullImages } from './pull/pull-images.ts';
import type { ImageStore } from './pull/store.ts';
import { type ImageCare, requireSpace } from './space/space.ts';

/** Milliseconds for which a full disk is kept so for the sake of other nodes. */
const HAND_OVER_MS = 10 * 60_000;

/** Dependencies of `runPuller`. */
interface RunDeps {
  readonly config: Pick<Config, 'mode' | 'recordDir' | 'pinFor' | 'pinBy' | 'parallelPulls' | 'retryForMs' | 'expansion'> & {
    readonly imageCare: ImageCare;
  };
  readonly readSpec: () => Promise<PullSpec>;
  /** Opened during the run, so that a failure has its exit code and report. */
  readonly openSource: (content: ListContent | undefined) => Promise<ImageSource>;
  readonly openStore: () => Promise<ImageStore>;
  /** Keeps the store open for other nodes, and may give another exit code; default: it is closed at once. */
  readonly serve?: ((code: ExitCode) => Promise<ExitCode>) | undefined;
  readonly onCached?: OnCached | undefined;
  /** Waits until other nodes have what is on this one alone. */
  readonly handOver?: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** Runs spec, list, space, pull, space and verdict. Never throws: the exit code and the last report carry the result. */
export async function runPuller(deps: RunDeps): Promise<ExitCode> {
  const { progress, logger, signal } = deps;
  try {
    return await pullEverything(deps);
  } catch (error) {
    if (signal.aborted) {
      progress.enter('failed', 'interrupted; what is pulled stays, run again to pull the rest');
      return PullerExit.interrupted;
    }
    progress.enter('failed', errorMessage(error));
    logger.error(
      { err: errorMessage(error), code: error instanceof Error && 'code' in error ? error.code : undefined },
      'Pre-caching failed',
    );
    return exitCodeOf(error);
  }
}

async function pullEverything(deps: RunDeps): Promise<ExitCode> {
  const { mode } = deps.config;
  if (mode === 'unpin') return await unpin(deps);
  const spec = await deps.readSpec();
  await using store = await deps.openStore();
  if (mode === 'prove') return await proveCached(store, spec, deps);
  try {
    const own = await fillStore(store, spec, deps);
    const code = deps.serve ? await deps.serve(own) : own;
    // After a failure the next run goes on with what is held.
    if (own === PullerExit.done) await release(store, deps);
    return code;
  } catch (error) {
    if (error instanceof NoSpaceError) {
      await keepForOthers(deps);
      await release(store, deps);
    }
    throw error;
  }
}

/** Removes pins: those of one upgrade, or of all. The images stay, and their spec may be gone. */
async function unpin({ config, openStore, progress }: RunDeps): Promise<ExitCode> {
  await using store = await openStore();
  await store.pins?.remove(config.pinFor);
  await store.pins?.removeExpired();
  progress.enter('done');
  return PullerExit.done;
}

/** Keeps content until other nodes have what is here alone: the link has paid for it. A full disk cannot wait for ever. */
async function keepForOthers({ handOver: leave, signal, clock, logger }: RunDeps): Promise<void> {
  const late = new AbortController();
  using _timer = clock.setTimer(HAND_OVER_MS, () => late.abort());
  try {
    await leave?.(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    logger.warn({ err: errorMessage(error) }, 'Handing over to other nodes failed');
  }
}

/** Lets go of held content. A failure costs nothing but space until the hold ends by itself. */
async function release(store: ImageStore, { logger }: RunDeps): Promise<void> {
  try {
    await store.release?.();
  } catch (error) {
    logger.warn({ err: errorMessage(error) }, 'Letting go of content failed');
  }
}

/** Times that images are listed at most, because tags moved before they were pulled. */
const MOST_LISTS = 3;

/** Fills the store by lists, the next one when a tag of the last has moved meanwhile: the runtime asks for tags by itself. */
async function fillStore(store: ImageStore, spec: PullSpec, deps: RunDeps): Promise<ExitCode> {
  const { progress, logger } = deps;
  progress.fetchBy(store.fetchedBy);
  for (let lists = 1; ; lists++) {
    const list = await listImages(store, spec, deps);
    const { failures, moved } = await pullList(store, { spec, list }, deps);
    const [first] = moved;
    if (first && lists < MOST_LISTS) {
      logger.warn({ image: first.pullSpec, tags: moved.length, err: errorMessage(first) }, 'Listing images again: a tag has moved');
      progress.enter('listing');
      progress.triesAgain(first, { pullSpec: first.pullSpec });
      continue;
    }
    const code = conclude(deps, failures.length + list.unresolved.length, allExcludedSentence(list));
    if (code !== PullerExit.done) return code;
    await record(spec, list, deps);
    const names = list.images.flatMap(({ pullSpecs }) => pullSpecs);
    deps.onCached?.({ spec, names });
    await keepPinned(store, names, deps);
    return code;
  }
}

async function listImages(store: ImageStore, spec: PullSpec, deps: RunDeps): Promise<ImageList> {
  const source = await deps.openSource(store.listContent);
  const found = await buildImageList(spec, source, deps.signal);
  const list = store.findsImages ? handOver(found) : found;
  recordList(list, deps);
  deps.progress.readForList(source.bytesRead);
  return list;
}

async function pullList(
  store: ImageStore,
  { spec, list }: { readonly spec: PullSpec; readonly list: ImageList },
  deps: RunDeps,
): ReturnType<typeof pullImages> {
  const { progress, logger, signal, config } = deps;
  progress.enter('checking-space');
  const { retryForMs } = config;
  const retries = { ...deps, retryForMs };
  const { images: missing, packedBytes } = await findMissing(store, list.images, retries);
  const { cached, missing: missingBytes } = progress.bytes;
  const usage = await askStore(() => store.usage(signal), retries);
  const required = requiredBytes({
    missingBytes,
    cachedBytes: cached,
    packedBytes,
    expansion: config.expansion,
    spaceRequiredGiB: spec.spaceRequiredGiB,
  });
  logger.info(
    { store: store.description, ...usage, required, missingImages: missing.length, missingBytes, ...progress.uncounted },
    'Checking space',
  );
  requireSpace(usage, required, config.imageCare.gcThresholdPercent);

  progress.enter('pulling');
  // While the runtime unpacks so many images, blobs of as many more are on their way.
  const parallel = config.parallelPulls * (store.listContent ? 2 : 1);
  const outcome = await pullImages({ ...retries, store, images: missing, parallel });
  // zero requirement: a full store would make the kubelet remove pulled images
  requireSpace(await askStore(() => store.usage(signal), retries), 0, config.imageCare.gcThresholdPercent);
  return outcome;
}

/** Notes on the node what was cached. A pull without its record is whole all the same: only a proof misses it. */
async function record(spec: PullSpec, { images }: ImageList, { config, clock, logger }: RunDeps): Promise<void> {
  if (config.recordDir === undefined) return;
  try {
    await new CachedRecords(config.recordDir).write(spec, images, clock.now());
  } catch (error) {
    logger.warn({ recordDir: config.recordDir, err: errorMessage(error) }, 'Recording what is cached failed');
  }
}

function recordList({ images, unresolved, skipped, allExcluded }: ImageList, { progress, logger }: RunDeps): void {
  progress.expect(images, unresolved.length);
  for (const { pullSpec, package: owner, channel, bundle, pattern } of skipped)
    logger.warn(
      { image: pullSpec.slice(0, 256), operator: `${owner}:${channel}`, bundle, excludePattern: pattern },
      'Skipping a related image that no pod can pull: its text is no name that a runtime takes',
    );
  for (const { pullSpec, error } of unresolved) {
    progress.imageFailed(pullSpec, error);
    logger.error({ image: pullSpec, err: errorMessage(error) }, 'Resolving failed');
  }
  for (const { pullSpecs, handedOver } of images)
    if (handedOver !== undefined)
      logger.warn({ image: pullSpecs[0]?.pullSpec, err: errorMessage(handedOver) }, 'Leaving an image to the runtime');
  if (allExcluded > 0) logger.warn({ excluded: allExcluded }, 'Exclude patterns leave nothing of release and operators');
  logger.info({ images: images.length, unresolved: unresolved.length, skipped: skipped.length }, 'Listed');
}

function conclude({ progress, logger }: RunDeps, failed: number, note?: string): ExitCode {
  const { imagesDone, imagesTotal, failures } = progress.report();
  const code = exitCodeOfPull({ done: imagesDone, failed });
  const [first] = failures;
  const which = first ? `; the first, ${first.image}: ${first.error}` : '';
  const message = failed === 0 ? note : `${failed} of ${imagesTotal} images could not be pulled${which}`;
  progress.enter(code === PullerExit.done ? 'done' : 'failed', message);
  logger.info({ imagesDone, imagesTotal, failed, exitCode: code }, 'Finished');
  return code;
}
