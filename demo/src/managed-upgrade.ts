import { FlotillaError } from '@flotilla/api';
import { ensureDebianPackages, MONITORING_PACKAGES } from '@flotilla/control-plane/toolchain';
import { RegistryClient } from '@flotilla/registry';
import { applyFleetUpgrade, FLEET_UPGRADE } from '../../test/support/examples.ts';
import { allSpokes, type Fleet } from '../../test/support/fleet.ts';
import { type ManagedFleet, startManagedFleet } from '../../test/support/managed/managed-fleet.ts';
import { upgradeWithoutLink } from '../../test/support/managed/spoke-upgrade.ts';
import { type InstalledImages, type ProgramImages, pushProgramImages } from '../../test/support/program-images.ts';
import { followRollout } from '../../test/support/rollout-progress.ts';
import { followPrecaching } from '../../test/support/upgrade-progress.ts';
import { ProgressView } from './progress-view.ts';
import type { StoryOptions } from './story.ts';

/** Until pre-caching, and until the whole rollout is given up. */
const PRECACHE_MS = 180_000;
const ROLLOUT_MS = 400_000;
/** From the examples' being applied to the window. */
const WINDOW_IN_MS = 20_000;

/** Programs that run in this chapter alone. */
const OPERATORS = ['upgrade-operator', 'version-operator'] as const;
/** Their images. */
export type OperatorImages = ProgramImages<(typeof OPERATORS)[number]>;

/** Options of the chapter. */
interface ManagedUpgradeOptions extends StoryOptions {
  /** Images of our programs in the fleet's registry. */
  readonly images: InstalledImages & OperatorImages;
}

/** Makes what this chapter alone needs, so that nothing before it waits for it: monitoring, and the images of its operators. */
export async function prepareManagedUpgrade({ pushHost, dir }: Fleet, log: (line: string) => void): Promise<OperatorImages> {
  await using client = new RegistryClient({ insecureHosts: [pushHost] });
  const [images] = await Promise.all([
    pushProgramImages({ apps: OPERATORS, client, pushHost, dir, say: log }),
    ensureDebianPackages(MONITORING_PACKAGES, log),
  ]);
  return images;
}

/**
 * The last chapter: spokes that are run from releases upgrade themselves to another one, step by step, with their links cut. Throws with the
 * reason when it does not end well: `FLOTILLA_DEMO_*`, or the error of the part that failed. The fleet stays the caller's.
 */
export async function tellManagedUpgrade(fleet: Fleet, options: ManagedUpgradeOptions): Promise<void> {
  const { screen, images, rate, signal } = options;
  const say = (line: string) => screen.write(`${line}\n`);
  const spokes = allSpokes(fleet);
  const names = spokes.map(({ name }) => name).join(', ');
  say(`\nThe last chapter: whole clusters upgrade themselves. ${names} get an upgrade operator, a version operator`);
  say('and monitoring of their own, and are installed from a release of 2 operators, which run a workload each:');
  if (fleet.bystander) say(`  ${fleet.bystander.name}, which nobody had registered, joins for it`);
  for (const spoke of spokes) {
    await spoke.restoreLink();
    await spoke.setRate(undefined);
  }
  await using client = new RegistryClient({ insecureHosts: [fleet.pushHost] });
  await using managed = await startManagedFleet({ fleet, spokes, images, client, say: (line) => say(`  ${line}`), signal });
  for (const spoke of spokes) await spoke.setRate(rate);
  const windowStart = await applyUpgrade(fleet, managed, say);
  await precache(fleet, managed, { ...options, say });
  const { length: since } = (await fleet.registry.served()).requests;
  await rollOut(fleet, managed, { windowStart, say, signal });
  await showResult(fleet, managed, { since, say });
}

type Say = (line: string) => void;

/** As a user would, ahead of the window; returns when that starts. */
async function applyUpgrade({ hub }: Fleet, { placeholders, next }: ManagedFleet, say: Say): Promise<number> {
  const windowStart = Math.ceil((Date.now() + WINDOW_IN_MS) / 1000) * 1000;
  const WINDOW_START = new Date(windowStart).toISOString().replace('.000Z', 'Z');
  say(
    `\nApplying examples/fleet-upgrade: release ${next.version}, by a ManifestWork with an UpgradeConfig, in a window from ${WINDOW_START}`,
  );
  const said = await applyFleetUpgrade(hub, { ...placeholders, WINDOW_START });
  say(said.replaceAll(/^/gm, '  '));
  return windowStart;
}

async function precache(fleet: Fleet, managed: ManagedFleet, { screen, say, signal }: ManagedUpgradeOptions & { say: Say }): Promise<void> {
  say('\nPre-caching the release, ahead of the window');
  const view = new ProgressView(screen);
  const names = managed.spokes.map(({ name }) => name);
  const onChange = view.show.bind(view);
  const ended = await followPrecaching(fleet.hub.client, FLEET_UPGRADE, { spokes: names, onChange, withinMs: PRECACHE_MS, signal });
  const bad = ended.filter(({ state }) => state !== 'Succeeded');
  if (bad.length > 0) {
    const reasons = bad.map(({ name, state, message }) => `${name} ended as ${state}: ${message ?? 'no reason given'}`);
    throw new FlotillaError('FLOTILLA_DEMO_PRECACHING_FAILED', reasons.join('; '));
  }
  for (const spoke of managed.spokes) await managed.untilReadAhead(spoke);
  say('  the version operators have read the release itself');
}

interface InWindow {
  readonly windowStart: number;
  readonly say: Say;
  readonly signal: AbortSignal;
}

/** One spoke after another: each goes through its steps with its link cut. */
async function rollOut({ hub }: Fleet, { next, spokes }: ManagedFleet, { windowStart, say, signal }: InWindow): Promise<void> {
  const from = Math.max(windowStart, Date.now()) - Date.now() + performance.now();
  const at = () => `${((performance.now() - from) / 1000).toFixed(1).padStart(6)} s`;
  say('\nThe window. As soon as a spoke has its UpgradeConfig its link is cut, and comes back when it has upgraded itself by what it has:');
  await using watched = new AsyncDisposableStack();
  const upgrades = spokes.map((spoke) => {
    const onNews = (news: string) => say(`${at()}  ${spoke.name}  ${news}`);
    return watched.use(upgradeWithoutLink(spoke, { version: next.version, onNews }));
  });
  const onNews = (news: string) => say(`${at()}  hub      ${news}`);
  const followed = followRollout(hub.client, FLEET_UPGRADE, { onNews, withinMs: ROLLOUT_MS, signal });
  // Whichever comes first counts.
  followed.catch(() => undefined);
  const end = await Promise.race([followed, ...upgrades.map(({ broken }) => broken)]);
  if (!end.succeeded) throw new FlotillaError('FLOTILLA_DEMO_ROLLOUT', `the rollout ended with: ${end.message}`);
}

/** Shows the objects of hub and spokes, and the requests to the registry. */
async function showResult(fleet: Fleet, { next, spokes }: ManagedFleet, { since, say }: { since: number; say: Say }): Promise<void> {
  say(`\n$ kubectl -n ${FLEET_UPGRADE.namespace} get cgu`);
  say((await fleet.hub.kubectl(['-n', FLEET_UPGRADE.namespace, 'get', 'cgu'])).trimEnd());
  for (const spoke of spokes) {
    say(`\n$ kubectl get clusterversions,clusteroperators; kubectl get upgradeconfigs -A   # ${spoke.name}`);
    say((await spoke.kubectl(['get', 'clusterversions,clusteroperators'])).trimEnd());
    say((await spoke.kubectl(['get', 'upgradeconfigs', '-A'])).trimEnd());
  }
  const { byDigest } = await fleet.registry.served({ since });
  if (byDigest.size > 0) {
    const message = `the registry was asked for ${[...byDigest.keys()].join(', ')} after pre-caching`;
    throw new FlotillaError('FLOTILLA_DEMO_ROLLOUT', message);
  }
  say(`\nRelease ${next.version} runs on ${spokes.length} clusters; since pre-caching ended the registry was asked for nothing.`);
}
