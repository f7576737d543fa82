import { FlotillaError } from '@flotilla/api';
import { parseRate } from '@flotilla/control-plane';
import { RegistryClient } from '@flotilla/registry';
import { buildReleaseFixture, type ReleaseFixture } from '../../test/fixtures/release-fixture.ts';
import { applyExamples, EXAMPLE_UPGRADE } from './examples.ts';
import type { Fleet, SpokeSite, Started } from './fleet.ts';
import { installFlotilla } from './installation.ts';
import { pushProgramImages } from './program-images.ts';
import { ProgressView, type Screen } from './progress-view.ts';
import { followPrecaching } from './upgrade-progress.ts';

/** What the story is told with. */
export interface StoryOptions {
  /** Rate of each spoke's link, as `tc` writes it. */
  readonly rate: string;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/** What came out: a spoke, and how its images started. */
export interface Outcome {
  readonly spoke: string;
  readonly how: string;
  readonly started: Started;
}

/** Milliseconds in which images must come up where they are in the store, and for which the spoke without them is tried. */
const START_WITHIN_MS = 60_000;
const HOPELESS_FOR_MS = 10_000;

/**
 * The main job, from an empty fleet to images that start with the links cut. Throws with the reason when a step does not end well:
 * `FLOTILLA_DEMO_*`, or the error of the part that failed.
 */
export async function tellStory(fleet: Fleet, { rate, screen, signal }: StoryOptions): Promise<Outcome[]> {
  const say = (line: string) => screen.write(`${line}\n`);
  const release = await fillRegistry(fleet, say, signal);
  await shapeLinks(fleet, rate, say);
  await precache(fleet, release, { rate, screen, signal });

  const outcomes = await startWithoutLinks(fleet, release, say);
  if (fleet.bystander) outcomes.push(await startOverLink(fleet.bystander, release, rate, say));
  report(outcomes, say);
  check(outcomes);
  return outcomes;
}

/** Pushes our programs and the release, and installs the hub and the agents from them. */
async function fillRegistry(fleet: Fleet, say: (line: string) => void, signal: AbortSignal): Promise<ReleaseFixture> {
  const { pushHost, registryName, dir } = fleet;
  await using client = new RegistryClient({ insecureHosts: [pushHost] });
  say('\nImages of our programs, and hub and agents from charts/hub and charts/spoke');
  const images = await pushProgramImages({ client, pushHost, dir, say: (line) => say(`  ${line}`) });
  const [release] = await Promise.all([
    buildReleaseFixture({ client, pushHost, registryName, log: (line) => say(`  ${line}`) }),
    installFlotilla({ fleet, images, signal }),
  ]);
  say(`  release ${release.version}: ${release.components.length} component images, ${(release.releaseBytes / 1e6).toFixed(0)} MB`);
  say(`  hub is up, ${fleet.spokes.map(({ name }) => name).join(' and ')} available`);
  return release;
}

async function shapeLinks({ spokes, bystander }: Fleet, rate: string, say: (line: string) => void): Promise<void> {
  for (const spoke of [...spokes, ...(bystander ? [bystander] : [])]) await spoke.setRate(rate);
  say(`  the link to each spoke now carries ${rate}`);
}

/** Applies the examples as a user would, and shows the progress until every spoke has everything. */
async function precache(fleet: Fleet, release: ReleaseFixture, { rate, screen, signal }: StoryOptions): Promise<void> {
  const say = (line: string) => screen.write(`${line}\n`);
  const { hub, spokes } = fleet;
  say('\nApplying examples/precaching');
  const additional = release.operators.images[0]?.pullSpec ?? release.release.pullSpec;
  const words = await applyExamples(hub, { RELEASE_IMAGE: release.release.pullSpec, ADDITIONAL_IMAGE: additional });
  say(words.replaceAll(/^/gm, '  '));

  say('\nPre-caching');
  const view = new ProgressView(screen);
  const start = performance.now();
  const names = spokes.map(({ name }) => name);
  const linkSeconds = Math.ceil((release.totalBytes * 8) / parseRate(rate));
  const ended = await followPrecaching(hub.client, EXAMPLE_UPGRADE, {
    spokes: names,
    onChange: (states) => view.show(states),
    withinMs: 120_000 + 3_000 * linkSeconds,
    signal,
  });
  say(`  ended after ${seconds((performance.now() - start) / 1000)}`);
  say(`\n$ kubectl -n ${EXAMPLE_UPGRADE.namespace} get cgu`);
  say((await hub.kubectl(['-n', EXAMPLE_UPGRADE.namespace, 'get', 'cgu'])).trimEnd());
  const bad = ended.filter(({ state }) => state !== 'Succeeded');
  if (bad.length > 0) {
    const reasons = bad.map(({ name, state, message }) => `${name} ended as ${state}: ${message ?? 'no reason given'}`);
    throw new FlotillaError('FLOTILLA_DEMO_PRECACHING_FAILED', reasons.join('; '));
  }
}

/** Cuts every link and starts all component images everywhere; the spoke that has none is tried for a short while. */
async function startWithoutLinks(fleet: Fleet, release: ReleaseFixture, say: (line: string) => void): Promise<Outcome[]> {
  const { spokes, bystander } = fleet;
  const all = [...spokes, ...(bystander ? [bystander] : [])];
  await Promise.all(all.map((spoke) => spoke.cutLink()));
  say(`\nThe links are cut. Starting ${release.components.length} component images on ${all.map(({ name }) => name).join(', ')}`);
  const start = async (spoke: SpokeSite, how: string, withinMs: number): Promise<Outcome> => ({
    spoke: spoke.name,
    how,
    started: await spoke.startImages(release.components, withinMs),
  });
  return Promise.all([
    ...spokes.map((spoke) => start(spoke, 'pre-cached, link cut', START_WITHIN_MS)),
    ...(bystander ? [start(bystander, 'not pre-cached, link cut', HOPELESS_FOR_MS)] : []),
  ]);
}

async function startOverLink(spoke: SpokeSite, release: ReleaseFixture, rate: string, say: (line: string) => void): Promise<Outcome> {
  say(`For comparison, ${spoke.name} pulls them over its link of ${rate} now`);
  await spoke.restoreLink();
  const withinMs = 60_000 + Math.ceil((4_000 * release.releaseBytes * 8) / parseRate(rate));
  return { spoke: spoke.name, how: `not pre-cached, link ${rate}`, started: await spoke.startImages(release.components, withinMs) };
}

function report(outcomes: readonly Outcome[], say: (line: string) => void): void {
  say('');
  for (const { spoke, how, started } of outcomes) {
    const when = started.up === started.total ? `in ${seconds(started.seconds)}` : `within ${seconds(started.seconds)}`;
    say(`  ${spoke}  ${how.padEnd(28)}  ${started.up} of ${started.total} images started ${when}`);
  }
}

/** Pre-cached means: everything starts. Not pre-cached and cut means: nothing does, or the link was not cut. */
function check(outcomes: readonly Outcome[]): void {
  for (const { spoke, how, started } of outcomes) {
    const wanted = how === 'not pre-cached, link cut' ? 0 : started.total;
    if (started.up === wanted) continue;
    const [name, reason] = Object.entries(started.failures)[0] ?? ['', ''];
    const why = name ? `; ${name}: ${reason}` : '';
    throw new FlotillaError(
      'FLOTILLA_DEMO_START',
      `${spoke} (${how}): ${started.up} of ${started.total} images started, not ${wanted}${why}`,
    );
  }
}

const seconds = (value: number): string => `${value.toFixed(1)} s`;
