import { parseArgs } from 'node:util';
import { errorMessage } from '@flotilla/api';
import { cleanupOnExit, sweepLeftovers } from '@flotilla/control-plane/processes';
import { clusterObstacle } from '@flotilla/control-plane/servers';
import { setUp } from './setup.ts';
import { addUp, NOTHING, runCheck, runTests, type StageResult } from './test-stages.ts';

/** One step of the test command. */
interface Stage {
  readonly name: string;
  /** Begins what goes on beside the stages before it. */
  readonly begin?: () => void;
  readonly run: () => Promise<StageResult>;
}

const TIERS = ['unit', 'integration', 'system', 'e2e'] as const;
type Tier = (typeof TIERS)[number];

/** Runs of this command: what one checks on any machine, what needs root and real parts, and both. */
const RUNS = ['test', 'test:system', 'test:all'] as const;
type Run = (typeof RUNS)[number];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Set-up for what any machine can check begins with the run, on processors that the stages before it leave idle, and is quiet until its turn. */
function setUpStage(command: 'test' | 'test:system'): Stage {
  const untold: string[] = [];
  let log = (line: string): void => void untold.push(line);
  let begun: ReturnType<typeof setUp> | undefined;
  const begin = (): void => {
    begun = setUp(command, (line) => log(line), { inBackground: true });
    // The stage meets the error.
    begun.catch(() => undefined);
  };
  return {
    name: command === 'test' ? 'set-up' : 'set-up of whole systems',
    ...(command === 'test' && { begin }),
    async run() {
      // Progress that is over is no news.
      for (const line of untold) if (!line.startsWith('  ')) say(line);
      log = say;
      await (await (begun ?? setUp(command, say))).rest;
      return NOTHING;
    },
  };
}

const checks: readonly Stage[] = [
  {
    name: 'types',
    async run() {
      const programs = ['tsconfig.json', 'apps/console/tsconfig.json'];
      const results: StageResult[] = [];
      for (const program of programs) results.push(await runCheck(`tsc -p ${program}`, 'node_modules/.bin/tsc', ['-p', program]));
      return addUp(results);
    },
  },
  { name: 'format and lint', run: () => runCheck('biome', 'node_modules/.bin/biome', ['check', '.']) },
  { name: 'type-aware lint', run: () => runCheck('oxlint', 'node_modules/.bin/oxlint', ['--type-aware', '.']) },
  { name: 'generated files', run: () => runCheck('npm run generate -- --check', 'tools/src/generate.ts', ['--check']) },
];

/** The same stories each time: whoever looks for new ones gives the command other seeds. */
const STORIES = ['--from', '1', '--runs', '500'];

const simulation: Stage = {
  name: 'simulation',
  run: () => runCheck('npm run simulate', 'test/simulation/main.ts', STORIES),
};

const tests: Readonly<Record<Tier, Stage>> = {
  unit: { name: 'unit tests', run: () => runTests(['unit', 'architecture', 'fuzz']) },
  integration: { name: 'integration tests', run: () => runTests(['integration']) },
  system: { name: 'system tests', run: () => runTests(['system']) },
  e2e: { name: 'end-to-end tests', run: () => runTests(['e2e']) },
};

/** Kubelets and probes of whole clusters have deadlines of their own: on a busy machine they come first. */
const niceness = 5;

/** Both at once: whole clusters leave half of the machine idle, since most of them wait for slow links. */
const bothSystems: Stage = {
  name: 'system and end-to-end tests',
  run: async () => addUp(await Promise.all([runTests(['e2e']), runTests(['system'], { niceness })])),
};

/** Stages of a run; `only` leaves out the checks and the other tiers. */
export function stagesOf(run: Run, only?: Tier): readonly Stage[] {
  if (only === 'unit') return [tests.unit];
  if (only !== undefined) return [setUpStage(only === 'integration' ? 'test' : 'test:system'), tests[only]];
  // Checks and unit tests need nothing built and tell first: on a new machine set-up takes minutes.
  const anywhere = [...checks, tests.unit, simulation, setUpStage('test'), tests.integration];
  const asRoot = [setUpStage('test:system'), bothSystems];
  return { test: anywhere, 'test:system': asRoot, 'test:all': [...anywhere, ...asRoot] }[run];
}

/** Runs the stages one after the other, each also when an earlier one failed, and says how long each took. */
export async function runStages(stages: readonly Stage[]): Promise<StageResult> {
  const results: StageResult[] = [];
  for (const { begin } of stages) begin?.();
  for (const [i, { name, run }] of stages.entries()) {
    say(`\n[${i + 1}/${stages.length}] ${name}`);
    const start = performance.now();
    const result = await run().catch((error: unknown) => ({ ...NOTHING, failures: [`${name}: ${errorMessage(error)}`] }));
    results.push(result);
    say(
      `[${i + 1}/${stages.length}] ${name}: ${result.failures.length === 0 ? 'ok' : 'FAILED'} after ${((performance.now() - start) / 1000).toFixed(1)} s`,
    );
  }
  return addUp(results);
}

/** Files that the closing summary names as the slowest. */
const SHOWN_FILES = 10;

/**
 * Lines that close a run; the last one holds the three numbers and nothing else.
 * @param obstacle why whole clusters cannot run here, which is why end-to-end tests alone may be skipped without a reason of their own
 */
export function closingSummary(total: StageResult, obstacle: string | undefined): string[] {
  const reasonOf = ({ name, reason }: StageResult['skips'][number]) =>
    reason ?? (name.startsWith('test/e2e/') ? obstacle : undefined) ?? 'the test gives no reason: use context.skip(reason)';
  const slowest = total.files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SHOWN_FILES);
  return [
    ...(slowest.length > 0 ? ['Slowest files:', ...slowest.map(({ name, seconds }) => `  ${seconds.toFixed(1)} s ${name}`)] : []),
    ...(total.failures.length > 0 ? ['Failed:', ...total.failures.map((failure) => `  ${failure}`)] : []),
    ...(total.unsteady.length > 0 ? ['Passed at the second attempt:', ...total.unsteady.map((name) => `  ${name}`)] : []),
    ...(total.skips.length > 0 ? ['Skipped:', ...total.skips.map((skip) => `  ${skip.name}: ${reasonOf(skip)}`)] : []),
    `${total.passed} passed, ${total.failures.length} failed, ${total.skips.length} skipped`,
  ];
}

/** Reads the arguments: which run, and which tier of it alone. Throws RangeError that names what there is. */
export function parseRun(args: readonly string[]): { readonly run: Run; readonly only: Tier | undefined } {
  const { values, positionals } = parseArgs({ args: [...args], options: { only: { type: 'string' } }, allowPositionals: true });
  const [name = 'test'] = positionals;
  const run = RUNS.find((known) => known === name);
  if (!run || positionals.length > 1) throw new RangeError(`${positionals.join(' ')}: must be one of ${RUNS.join(', ')}`);
  const only = TIERS.find((tier) => tier === values.only);
  if (values.only !== undefined && !only) throw new RangeError(`--only ${values.only}: must be one of ${TIERS.join(', ')}`);
  return { run, only };
}

if (import.meta.main) {
  cleanupOnExit();
  try {
    const { run, only } = parseRun(process.argv.slice(2));
    const total = await runStages(stagesOf(run, only));
    await sweepLeftovers();
    process.exitCode = total.failures.length === 0 ? 0 : 1;
    say(`\n${closingSummary(total, clusterObstacle()).join('\n')}`);
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    process.exitCode = 1;
  }
}
