import { dirname } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { clusterObstacle } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { FLEET_UPGRADE } from '../../test/support/examples.ts';
import { allSpokes, type Site, startFleet } from '../../test/support/fleet.ts';
import { UPGRADES } from '../../test/support/ocm/gateway.ts';
import { setUp } from '../../tools/src/setup.ts';
import { type OperatorImages, prepareManagedUpgrade, tellManagedUpgrade } from './managed-upgrade.ts';
import { tellOcmStory } from './ocm/story.ts';
import { type DemoOptions, HELP, parseOptions } from './options.ts';
import { tellStory } from './story.ts';

/** Every node of a spoke is filled, over one link. */
const FURTHER_NODES = { 'spoke-1': [{ name: 'node-2' }, { name: 'node-3' }] };

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const screen = {
  isTTY: process.stdout.isTTY ?? false,
  get columns() {
    return process.stdout.columns;
  },
  write: (text: string) => void process.stdout.write(text),
};

async function main(options: DemoOptions, signal: AbortSignal): Promise<void> {
  const obstacle = clusterObstacle();
  if (obstacle) throw new FlotillaError('FLOTILLA_DEMO_OBSTACLE', `the fleet cannot be started here: ${obstacle}`);
  say('Set-up');
  const indented = (line: string): void => say(`  ${line}`);
  await setUp(options.ocm ? 'demo --ocm' : 'demo', indented);
  if (options.ocm) return await tellOther(options, signal);
  const start = performance.now();
  say('\nStarting whole clusters');
  await using fleet = await startFleet({ spokes: options.spokes, bystander: true, furtherNodes: FURTHER_NODES, say: indented, signal });
  say(`  ${fleet.description}`);
  say(`  up after ${elapsed(start)}`);
  const telling = { rate: options.rate, screen, signal };
  let operators: Promise<OperatorImages> | undefined;
  const onFirstPull = (): void => {
    operators = prepareManagedUpgrade(fleet, indented);
    // Its end is awaited by its chapter.
    operators.catch(() => undefined);
  };
  const images = await tellStory(fleet, { ...telling, onFirstPull });
  operators ??= prepareManagedUpgrade(fleet, indented);
  await tellManagedUpgrade(fleet, { ...telling, images: { ...images, ...(await operators) } });
  say(`\nThe story took ${elapsed(start)}, set-up not counted`);
  if (options.keep) {
    for (const spoke of allSpokes(fleet)) await spoke.restoreLink();
    say('\nThe links are up again, and everything stays until Ctrl-C. Look around with');
    const { namespace, name } = FLEET_UPGRADE;
    const looks = [`-n ${namespace} get cgu ${name} -o yaml`, 'get managedclusters', 'get managedclusteractions,managedclusterviews -A'];
    await keepRunning(fleet.hub, allSpokes(fleet), { looks, signal });
  }
  say('Taking everything down');
}

/** The story of `--ocm`. */
async function tellOther({ spokes, keep }: DemoOptions, signal: AbortSignal): Promise<void> {
  const start = performance.now();
  await using world = await tellOcmStory({ spokes, say, signal });
  say(`\nThe story took ${elapsed(start)}, set-up not counted`);
  if (keep) {
    say('\nEverything stays until Ctrl-C. Look around with');
    const looks = [`-n ${UPGRADES} get cgu,policies,placements`, 'get manifestworks,policies,placementdecisions -A'];
    await keepRunning(world.hub, world.spokes, { looks, signal });
  }
  say('Taking everything down');
}

const elapsed = (start: number): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;

interface KeepOptions {
  /** Arguments of kubectl that show something on the hub. */
  readonly looks: readonly string[];
  readonly signal: AbortSignal;
}

/** Says how to look around and waits for Ctrl-C. */
async function keepRunning(hub: Site, spokes: readonly Site[], { looks, signal }: KeepOptions): Promise<void> {
  const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
  say(`  export KUBECONFIG=${hub.kubeconfig} PATH=${dirname(kubectl)}:$PATH`);
  for (const look of looks) say(`  kubectl ${look}`);
  for (const { name, kubeconfig } of spokes) say(`  kubectl --kubeconfig ${kubeconfig} get pods -A   # ${name}`);
  // The signal handler ends the program; a timer keeps it alive until then.
  const timer = setInterval(() => undefined, 60_000);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  clearInterval(timer);
  await new Promise(() => undefined);
}

const interrupted = new AbortController();
cleanupOnExit((signal) => {
  say(`\n${signal}: taking everything down`);
  interrupted.abort(new Error(signal));
});
try {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(HELP);
  else await main(options, interrupted.signal);
} catch (error) {
  // After a signal the clean-up ends the program; what failed because of it is no news.
  if (interrupted.signal.aborted) await new Promise(() => undefined);
  process.stderr.write(`The demo failed: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
