import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { currentRun, leftovers, type Run, startServerProcess } from '@flotilla/control-plane/processes';
import { clusterObstacle } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';

const obstacle = clusterObstacle();
const DEMO = fileURLToPath(new URL('../../demo/src/main.ts', import.meta.url));
const NOTHING = { processes: [], mounts: [], links: [], namespaces: [], cgroups: [], folders: [] };
/** From the signal to the end of the program. */
const END_WITHIN_MS = 45_000;
const ENDED = Symbol('ended');

/** A running demo and what it makes on this machine. */
interface Demo {
  readonly output: () => Promise<string>;
  readonly run: Run;
}

/** Starts the demo, sends it a signal at a moment, and returns what is left of it once it has ended. */
async function interrupt(args: readonly string[], isMoment: (demo: Demo) => Promise<boolean>, signal: NodeJS.Signals) {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-interrupt-'));
  const logFile = join(folder, 'log');
  const program = process.execPath;
  await using demo = await startServerProcess({
    name: 'demo',
    program,
    args: ['--disable-warning=ExperimentalWarning', DEMO, ...args],
    logFile,
  });
  try {
    const output = () => readFile(logFile, 'utf8');
    const whileItRuns = async <T>(look: () => Promise<T | false | undefined>, withinMs: number, what: string): Promise<T> => {
      const answer = await eventually(async () => (demo.hasExited() ? ENDED : await look()), what, withinMs);
      if (answer === ENDED) throw new Error(`the demo ended early: ${await output()}`);
      return answer;
    };
    const run = await whileItRuns(() => runOf(demo.pid), 60_000, 'the demo to begin');
    await whileItRuns(() => isMoment({ output, run }), 300_000, 'the moment');
    const start = performance.now();
    await demo.stop({ signal, graceMs: END_WITHIN_MS });
    const tookMs = performance.now() - start;
    console.log(`${args.join(' ') || 'whole clusters'}: ended ${Math.round(tookMs)} ms after ${signal}`);
    // The kernel takes namespaces and what lies in them apart after their last process has gone.
    const isGone = async () => JSON.stringify(await leftovers(run)) === JSON.stringify(NOTHING);
    await eventually(isGone, 'everything to be gone', 5_000).catch(() => undefined);
    return { left: await leftovers(run), tookMs, output: await output() };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The run that belongs to a process: its folder names its owner. */
async function runOf(pid: number): Promise<Run | undefined> {
  const runs = dirname((await currentRun()).dir);
  for (const id of await readdir(runs)) {
    const owner = await readFile(join(runs, id, 'owner.json'), 'utf8').catch(() => '');
    if (owner.includes(`"pid":${pid},`)) return { id, dir: join(runs, id) };
  }
  return undefined;
}

describe.skipIf(obstacle !== undefined)('the demo, interrupted', () => {
  test.each([
    { when: 'while clusters start', isMoment: async ({ run }: Demo) => (await leftovers(run)).links.length >= 2, signal: 'SIGINT' },
    { when: 'while agents are installed', isMoment: async ({ run }: Demo) => (await leftovers(run)).cgroups.length > 0, signal: 'SIGTERM' },
    { when: 'in mid-pull', isMoment: async ({ output }: Demo) => (await output()).includes(' images  '), signal: 'SIGINT' },
  ] as const)('$when, leaves nothing behind', async ({ isMoment, signal }) => {
    const { left, tookMs, output } = await interrupt(['--spokes', '1', '--rate', '20mbit'], isMoment, signal);
    expect(output).toContain(`${signal}: taking everything down`);
    expect(output).not.toContain('The demo failed');
    expect(left).toEqual(NOTHING);
    expect(tookMs).toBeLessThan(END_WITHIN_MS);
  });
});
