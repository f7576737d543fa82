import { dirname } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { cleanupOnExit, clusterObstacle, ensureTools } from '@flotilla/control-plane';
import { setUp } from '../../tools/src/setup.ts';
import { startApiOnlyFleet } from './api-only-fleet.ts';
import { EXAMPLE_UPGRADE } from './examples.ts';
import { allSpokes, type Fleet } from './fleet.ts';
import { type DemoOptions, HELP, parseOptions } from './options.ts';
import { startRealFleet } from './real-fleet.ts';
import { tellStory } from './story.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const screen = {
  isTTY: process.stdout.isTTY ?? false,
  get columns() {
    return process.stdout.columns;
  },
  write: (text: string) => void process.stdout.write(text),
};

async function main(options: DemoOptions, signal: AbortSignal): Promise<void> {
  say('Set-up');
  await setUp((line) => say(`  ${line}`));
  const start = performance.now();
  const obstacle = options.apiOnly ? '--api-only was given' : clusterObstacle();
  const fleetOptions = { spokes: options.spokes, bystander: true, say: (line: string) => say(`  ${line}`), signal };
  say(obstacle ? `\nAPI servers only (${obstacle})` : '\nStarting whole clusters');
  await using fleet = await (obstacle ? startApiOnlyFleet(fleetOptions) : startRealFleet(fleetOptions));
  say(`  ${fleet.description}`);
  say(`  up after ${elapsed(start)}`);
  await tellStory(fleet, { rate: options.rate, screen, signal });
  say(`\nThe story took ${elapsed(start)}, set-up not counted`);
  if (options.keep) await keepRunning(fleet, signal);
  say('Taking everything down');
}

const elapsed = (start: number): string => `${((performance.now() - start) / 1000).toFixed(1)} s`;

/** Says how to look around and waits for Ctrl-C. */
async function keepRunning(fleet: Fleet, signal: AbortSignal): Promise<void> {
  const { hub } = fleet;
  for (const spoke of allSpokes(fleet)) await spoke.restoreLink();
  const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
  say('\nThe links are up again, and everything stays until Ctrl-C. Look around with');
  say(`  export KUBECONFIG=${hub.kubeconfig} PATH=${dirname(kubectl)}:$PATH`);
  say(`  kubectl -n ${EXAMPLE_UPGRADE.namespace} get cgu ${EXAMPLE_UPGRADE.name} -o yaml`);
  say('  kubectl get managedclusters; kubectl get managedclusteractions,managedclusterviews -A');
  for (const { name, kubeconfig } of allSpokes(fleet)) say(`  kubectl --kubeconfig ${kubeconfig} get pods -A   # ${name}`);
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
