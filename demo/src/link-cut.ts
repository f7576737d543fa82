import { FlotillaError } from '@flotilla/api';
import type { ComponentImage, Started } from '../../test/support/component-pods.ts';
import { allSpokes, type Fleet, type SpokeSite } from '../../test/support/fleet.ts';

/** A node of a spoke, and how its images started. */
interface Outcome {
  /** Spoke, with the node where it has several. */
  readonly place: string;
  readonly isPrecached: boolean;
  readonly started: Started;
}

/** Milliseconds in which images must come up where they are in the store, and for which the spoke without them is tried. */
const START_WITHIN_MS = 60_000;
const HOPELESS_FOR_MS = 10_000;

/**
 * Cuts every link and starts all images on every node. The bystander, which has none but those it already `has`, is tried for a short
 * while with the others. Throws `FLOTILLA_DEMO_START` when an image that was pre-cached does not start, or one that was not does.
 */
export async function startWithoutLinks(
  fleet: Fleet,
  images: readonly ComponentImage[],
  has: ReadonlySet<string>,
  say: (line: string) => void,
): Promise<void> {
  const all = allSpokes(fleet);
  await Promise.all(all.map((spoke) => spoke.cutLink()));
  say(`\nThe links are cut. Starting ${images.length} component images on ${all.map(({ name }) => name).join(', ')}`);
  const missing = images.filter(({ pullSpec }) => !has.has(pullSpec));
  const start = async (spoke: SpokeSite, node: string): Promise<Outcome> => {
    const isPrecached = spoke !== fleet.bystander;
    const started = isPrecached ? spoke.startImages(images, START_WITHIN_MS, node) : spoke.startImages(missing, HOPELESS_FOR_MS, node);
    return { place: spoke.nodes.length > 1 ? `${spoke.name} on ${node}` : spoke.name, isPrecached, started: await started };
  };
  const outcomes = await Promise.all(all.flatMap((spoke) => spoke.nodes.map((node) => start(spoke, node))));
  for (const outcome of outcomes) say(`  ${describe(outcome)}`);
  for (const outcome of outcomes) check(outcome);
}

function describe({ place, isPrecached, started: { up, total, seconds } }: Outcome): string {
  const when = `${up === total ? 'in' : 'within'} ${seconds.toFixed(1)} s`;
  return `${place.padEnd(18)}  ${(isPrecached ? 'pre-cached' : 'not pre-cached').padEnd(14)}  ${up} of ${total} images started ${when}`;
}

/** Not pre-cached and cut means: nothing starts, or the link was not cut. */
function check(outcome: Outcome): void {
  const { isPrecached, started } = outcome;
  const wanted = isPrecached ? started.total : 0;
  if (started.up === wanted) return;
  const [name, reason] = Object.entries(started.failures)[0] ?? ['', ''];
  throw new FlotillaError('FLOTILLA_DEMO_START', `${describe(outcome)}, not ${wanted}${name && `; ${name}: ${reason}`}`);
}
