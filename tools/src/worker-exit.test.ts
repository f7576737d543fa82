import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment, identify } from '@flotilla/control-plane/processes';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { ROOT } from './test-stages.ts';

const WAITS = `import { writeFileSync } from 'node:fs';
test('waits', async () => {
  writeFileSync('worker', String(process.pid));
  for (;;) await new Promise((resolve) => setTimeout(resolve, 100));
}, 600_000);`;

test.each(['SIGTERM', 'SIGKILL'] as const)('a test run that is ended by %s leaves no worker', async (signal) => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-workers-'));
  await writeFile(join(dir, 'waits.test.ts'), WAITS);
  const setup = JSON.stringify([join(ROOT, 'test/worker-exit.ts')]);
  await writeFile(join(dir, 'vitest.config.mjs'), `export default { test: { globals: true, setupFiles: ${setup} } };`);
  const vitest = join(ROOT, 'node_modules/.bin/vitest');
  const runner = spawn(process.execPath, [vitest, 'run', '--pool=forks'], {
    cwd: dir,
    stdio: 'ignore',
    env: childEnvironment({ CI: 'true' }),
  });
  const ended = once(runner, 'exit');
  const readPid = async () => Number(await readFile(join(dir, 'worker'), 'utf8').catch(() => '')) || undefined;
  try {
    const worker = await eventually(readPid, 'the test to wait in its worker', 60_000);
    expect(worker).not.toBe(runner.pid);
    expect(await identify(worker)).toBeDefined();
    runner.kill(signal);
    await ended;
    await eventually(async () => (await identify(worker)) === undefined, 'the worker to be gone', 15_000);
  } finally {
    runner.kill('SIGKILL');
    const left = await readPid();
    if (left && (await identify(left))) process.kill(left, 'SIGKILL');
    await rm(dir, { recursive: true, force: true });
  }
});
