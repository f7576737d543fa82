import { FlotillaError } from '@flotilla/api';
import { bytes } from '@flotilla/api/units';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { parseRate } from '@flotilla/control-plane/servers';
import { RegistryClient } from '@flotilla/registry';
import { applyExamples, EXAMPLE_UPGRADE, HUB_EXAMPLES } from '../../test/support/examples.ts';
import { allSpokes, type Fleet } from '../../test/support/fleet.ts';
import { installFlotilla, joinOptions } from '../../test/support/installation.ts';
import { INSTALLED, type InstalledImages, pushProgramImages } from '../../test/support/program-images.ts';
import { buildReleaseFixture, distinctBytes, type ReleaseFixture } from '../../test/support/release-fixture.ts';
import { followPrecaching } from '../../test/support/upgrade-progress.ts';
import { imagePlaceholders, startWorkloads, workloadImages } from '../../test/support/workloads.ts';
import { startWithoutLinks } from './link-cut.ts';
import { ProgressView, type Screen } from './progress-view.ts';
import { rollOut } from './rollout.ts';

/** Options of the story. */
export interface StoryOptions {
  /** Rate of each spoke's link, as `tc` writes it. */
  readonly rate: string;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/** A story, and who waits for its first pull. */
interface WholeStory extends StoryOptions {
  /** Called once, when an image is being pulled. */
  readonly onFirstPull?: () => void;
}

/** Version that the Deployments run before; small, because nobody waits for it. */
const OLD_VERSION = { version: '4.98.0', seed: 98, components: 4, totalBytes: 4_000_000 };
/** Seconds beside the link's for pre-caching: the puller's start, its list, unpacking. The window starts after them. */
const PRECACHE_EXTRA_SECONDS = 8;

/**
 * The main job, from an empty fleet to a new version in service, and images that start with the links cut. Throws with the reason when
 * a step does not end well: `FLOTILLA_DEMO_*`, or the error of the part that failed. Returns the images that the programs run from.
 */
export async function tellStory(fleet: Fleet, options: WholeStory): Promise<InstalledImages> {
  const say = (line: string) => options.screen.write(`${line}\n`);
  const { release, programs } = await setTheScene(fleet, say, options.signal);
  await shapeLinks(fleet, options.rate, say);
  const images = workloadImages(largestFirst(release));
  const windowStart = await applyUpgrade(fleet, release, images, { ...options, say });
  const { length: since } = (await fleet.registry.served()).requests;
  await precache(fleet, release, { ...options, say });
  await tellLinks(fleet, release, { since, say });
  await rollOutInWindow(fleet, release, { ...options, images, windowStart, say });
  await startWithoutLinks(fleet, release.components, new Set(Object.values(images)), say);
  return programs;
}

interface Scene {
  readonly release: ReleaseFixture;
  readonly programs: InstalledImages;
}

type Say = { readonly say: (line: string) => void };

/** Pushes our programs and both versions, installs hub and agents, and starts what runs on the spokes. */
async function setTheScene(fleet: Fleet, say: (line: string) => void, signal: AbortSignal): Promise<Scene> {
  const { pushHost, registryName, dir, spokes } = fleet;
  await using client = new RegistryClient({ insecureHosts: [pushHost] });
  say('\nImages of our programs, a standalone hub from charts/hub, and every spoke joined with the command for it:');
  const [first] = spokes;
  if (first) say(`  npm run join -- ${Object.entries(joinOptions(fleet, first)).flat().map(asOption).join(' ')} …`);
  const programs = await pushProgramImages({ apps: INSTALLED, client, pushHost, dir, say: (line) => say(`  ${line}`) });
  const fixture = { client, pushHost, registryName, log: (line: string) => say(`  ${line}`) };
  const pushAndStart = async (): Promise<ReleaseFixture> => {
    const old = await buildReleaseFixture({ ...fixture, ...OLD_VERSION });
    const [release] = await Promise.all([
      buildReleaseFixture(fixture),
      ...allSpokes(fleet).map((spoke) => startWorkloads(spoke, workloadImages(old.components))),
    ]);
    return release;
  };
  const [release] = await Promise.all([pushAndStart(), installFlotilla({ fleet, images: programs, signal })]);
  say(`  hub is up, ${spokes.map(({ name }) => name).join(' and ')} joined and available; each spoke runs 4 Deployments of 4.98.0`);
  say(`  release ${release.version}: ${release.components.length} component images, ${bytes(release.releaseBytes)}`);
  return { release, programs };
}

const asOption = (text: string, index: number): string => (index % 2 === 0 ? `--${text}` : text);

async function shapeLinks(fleet: Fleet, rate: string, say: (line: string) => void): Promise<void> {
  for (const spoke of allSpokes(fleet)) await spoke.setRate(rate);
  say(`  the link to each spoke now carries ${rate}`);
}

const largestFirst = ({ components }: ReleaseFixture) => components.toSorted((a, b) => distinctBytes([b]) - distinctBytes([a]));

/** Applies the examples as a user would, ahead of the window; returns when that starts, in milliseconds since the epoch. */
async function applyUpgrade(
  { hub }: Fleet,
  release: ReleaseFixture,
  images: Readonly<Record<string, string>>,
  { rate, say }: StoryOptions & Say,
): Promise<number> {
  const linkSeconds = (release.releaseBytes * 8) / parseRate(rate);
  // The annotation has whole seconds.
  const windowStart = Math.ceil(Date.now() / 1000 + 1.1 * linkSeconds + PRECACHE_EXTRA_SECONDS) * 1000;
  const WINDOW_START = new Date(windowStart).toISOString().replace('.000Z', 'Z');
  say(`\nApplying examples/rollout, whose window starts at ${WINDOW_START}`);
  const values = { RELEASE_IMAGE: release.release.pullSpec, WINDOW_START, ...imagePlaceholders(images) };
  say((await applyExamples(hub, HUB_EXAMPLES, values)).replaceAll(/^/gm, '  '));
  return windowStart;
}

/** Shows the progress until every spoke has everything. */
async function precache({ hub, spokes }: Fleet, release: ReleaseFixture, options: WholeStory & Say): Promise<void> {
  const { rate, screen, signal, say } = options;
  say('\nPre-caching, ahead of the window');
  const view = new ProgressView(screen);
  const start = performance.now();
  let firstPullAt: number | undefined;
  const ended = await followPrecaching(hub.client, EXAMPLE_UPGRADE, {
    spokes: spokes.map(({ name }) => name),
    onChange: (states) => {
      if (firstPullAt === undefined && states.some(({ state }) => state === 'Active' || state === 'Succeeded')) {
        firstPullAt = (Date.now() - readEnvironment().startedAt) / 1000;
        options.onFirstPull?.();
      }
      view.show(states);
    },
    withinMs: limitMs(release, rate),
    signal,
  });
  say(`  ended after ${seconds((performance.now() - start) / 1000)}`);
  if (firstPullAt !== undefined)
    say(`  the first pull began ${seconds(firstPullAt)} after the demo's start, npm packages and set-up counted`);
  const bad = ended.filter(({ state }) => state !== 'Succeeded');
  if (bad.length === 0) return;
  const reasons = bad.map(({ name, state, message }) => `${name} ended as ${state}: ${message ?? 'no reason given'}`);
  throw new FlotillaError('FLOTILLA_DEMO_PRECACHING_FAILED', reasons.join('; '));
}

/** Says what crossed the links of spokes with several nodes. */
async function tellLinks(
  fleet: Fleet,
  { release, components, releaseBytes }: ReleaseFixture,
  { since, say }: Say & { since: number },
): Promise<void> {
  const images = [release, ...components];
  const layers = new Set(images.flatMap((image) => image.layers.map(({ digest }) => digest)));
  for (const { name, nodes } of fleet.spokes.filter((spoke) => spoke.nodes.length > 1)) {
    const to = fleet.clusters.get(name)?.address;
    const { byDigest } = await fleet.registry.served({ since, ...(to !== undefined && { to }) });
    const sent = [...byDigest].reduce((sum, [digest, size]) => sum + (layers.has(digest) ? size : 0), 0);
    say(`  ${name} has ${nodes.length} nodes, each with all of it; over its link came ${bytes(sent)} for ${bytes(releaseBytes)}`);
  }
}

/** Three times what the link takes, and two minutes. */
const limitMs = (release: ReleaseFixture, rate: string): number => 120_000 + 3_000 * Math.ceil((release.totalBytes * 8) / parseRate(rate));

interface InWindow extends StoryOptions, Say {
  readonly images: Readonly<Record<string, string>>;
  readonly windowStart: number;
}

/** The rollout, with what it did to the spokes. */
async function rollOutInWindow(fleet: Fleet, release: ReleaseFixture, options: InWindow): Promise<void> {
  const { rate, images, windowStart, say, signal } = options;
  const { hub, spokes, bystander } = fleet;
  const changed = distinctBytes(release.components.filter(({ pullSpec }) => Object.values(images).includes(pullSpec)));
  say(`\nThe rollout: 4 Deployments to images of ${bytes(changed)}, on ${spokes.map(({ name }) => name).join(' and ')}`);
  if (bystander) say(`  when the window starts, ${bystander.name}, which was not pre-cached, gets the same by hand`);
  const gaps = await rollOut(fleet, { images, windowStart, say, withinMs: limitMs(release, rate), signal });
  const { namespace } = EXAMPLE_UPGRADE;
  say(`\n$ kubectl -n ${namespace} get cgu`);
  say((await hub.kubectl(['-n', namespace, 'get', 'cgu'])).trimEnd());
  say('\nTime in which not every Deployment was available and up to date:');
  for (const gap of gaps) say(`  ${gap.spoke}  ${(gap.isPrecached ? 'pre-cached' : 'not pre-cached').padEnd(14)}  ${seconds(gap.seconds)}`);
}

const seconds = (value: number): string => `${value.toFixed(1)} s`;
