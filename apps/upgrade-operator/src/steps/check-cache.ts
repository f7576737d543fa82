import { cacheObstacle } from '@flotilla/upgrade';
import { done, type Step, waiting } from './step.ts';

/** Milliseconds between two looks: whoever proves the cache tells nobody. */
const LOOK_MS = 10_000;

/** Begins nothing while a node is not proven to have the images of the release. Only where the configuration asks for it. */
export const checkCache: Step = {
  name: 'check-cache',
  endsWithCommencement: true,
  async run({ cluster, target, config, ports, nowMs, signal }) {
    const { maxAge } = config.cacheProof;
    const notes = (await ports.cachedReleases.read(signal)).values();
    const obstacle = cacheObstacle({ cluster, target, notes, maxAge, nowMs });
    return obstacle === undefined ? { ...done, lookAgainMs: LOOK_MS } : waiting(obstacle, LOOK_MS);
  },
};
