import { errorMessage } from '@flotilla/api';
import type { PlanAnswer } from '@flotilla/api/answers';
import { type PrecachingSpec, precacheSpecData } from '@flotilla/api/ran';
import { systemClock } from '@flotilla/pace';
import { currentPlatform } from '@flotilla/registry';
import { buildImageList, createRegistrySource, parsePullSpec, sizeOfList } from '@flotilla/software';
import { openRegistry } from '../registry/open.ts';

/** Time-out for looking up all images, in milliseconds. */
const LOOK_UP_WITHIN_MS = 4 * 60_000;
/** Unresolved images that an answer names at most. */
const MOST_UNRESOLVED = 10;

/** Looks up in the registry what a spec comes to, by the code that the puller runs. */
export async function lookUpImages(
  spec: PrecachingSpec,
  options: Parameters<typeof openRegistry>[0],
): Promise<NonNullable<PlanAnswer['images']>> {
  await using client = await openRegistry(options);
  const patience = { refusedTries: 1, retryForMs: 20_000, clock: systemClock, random: Math.random };
  const list = await buildImageList(
    parsePullSpec(precacheSpecData(spec)),
    createRegistrySource(client, patience),
    AbortSignal.timeout(LOOK_UP_WITHIN_MS),
  );
  const { images: count, layers, bytes } = sizeOfList(list);
  const { os, architecture } = currentPlatform();
  const unresolved = list.unresolved
    .slice(0, MOST_UNRESOLVED)
    .map(({ pullSpec, error }) => ({ image: pullSpec, why: errorMessage(error) }));
  return { count, layers, bytes, platform: `${os}/${architecture}`, unresolved };
}
