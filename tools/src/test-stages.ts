import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { REPORT_VARIABLE, TestReport } from './test-reporter.ts';

/** Folder of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Result of a stage: like that of a vitest run, with nothing counted when it only checks. */
export type StageResult = TestReport;

/** Of a stage in which no test ran. */
export const NOTHING: Readonly<StageResult> = { passed: 0, failures: [], skips: [], unsteady: [], files: [] };

/** How a program is run. */
interface RunOptions {
  readonly env?: Record<string, string>;
  readonly timeoutMs: number;
  /** What it gets of a busy machine: 0 as much as others, 19 what they leave. */
  readonly niceness?: number;
}

/** Runs a program of `node_modules/.bin` with this Node; resolves with its exit code, 1 when it was killed. */
export function runProgram(program: string, args: readonly string[], { env, timeoutMs, niceness = 0 }: RunOptions): Promise<number> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, program), ...args], {
    cwd: ROOT,
    // Two may run at once: on a terminal each would draw over the other.
    stdio: ['ignore', 'pipe', 'pipe'],
    env: childEnvironment(env),
    timeout: timeoutMs,
  });
  child.stdout.pipe(process.stdout, { end: false });
  child.stderr.pipe(process.stderr, { end: false });
  if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
  // However this process ends, what it started ends with it.
  const end = () => void child.kill('SIGTERM');
  process.once('exit', end);
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  }).finally(() => process.off('exit', end));
}

/** A check that only passes or fails. */
export async function runCheck(name: string, program: string, args: readonly string[]): Promise<StageResult> {
  const code = await runProgram(program, args, { timeoutMs: 10 * 60_000 });
  return { ...NOTHING, failures: code === 0 ? [] : [`${name} failed (exit code ${code}); its messages are above`] };
}

/** Results of stages that ran at the same time, as one. */
export function addUp(results: readonly StageResult[]): StageResult {
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failures: results.flatMap(({ failures }) => failures),
    skips: results.flatMap(({ skips }) => skips),
    unsteady: results.flatMap(({ unsteady }) => unsteady),
    files: results.flatMap(({ files }) => files),
  };
}

/** Servers of a test are short-lived and memory is there: what they would spend on collecting garbage, a quarter of their time, goes into tests. */
const TEST_ENVIRONMENT = { GOGC: '400' };

/** How tests run. */
interface TestOptions {
  /** What they get of a busy machine: 0 as much as others, 19 what they leave. */
  readonly niceness?: number;
}

/** Runs vitest projects and reads what they came to. */
export async function runTests(projects: readonly string[], { niceness = 0 }: TestOptions = {}): Promise<StageResult> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-report-'));
  try {
    const file = join(dir, 'report.json');
    const selected = projects.flatMap((project) => ['--project', project]);
    const reporters = ['--reporter=default', `--reporter=${join(ROOT, 'tools/src/test-reporter.ts')}`];
    const code = await runProgram('node_modules/.bin/vitest', ['run', ...selected, ...reporters], {
      env: { ...TEST_ENVIRONMENT, [REPORT_VARIABLE]: file },
      timeoutMs: 80 * 60_000,
      niceness,
    });
    return checkReport(await readFile(file, 'utf8').catch(() => undefined), code, projects);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** A run without a report, or that fails without a failed test, is a failure too. */
export function checkReport(text: string | undefined, code: number, projects: readonly string[]): StageResult {
  const name = projects.join(' and ');
  if (text === undefined) return { ...NOTHING, failures: [`${name}: vitest ended with ${code} and no report`] };
  const report = TestReport.parse(JSON.parse(text));
  if (code !== 0 && report.failures.length === 0) report.failures.push(`${name}: vitest ended with ${code} though no test failed`);
  return report;
}
