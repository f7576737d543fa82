import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { identify } from './identity.ts';
import { leftovers } from './leftovers.ts';
import { createRunFolder, currentRun, removeRunFolder, sweepLeftovers } from './run.ts';

test('sweeping removes the folders of dead runs and keeps those of living ones', async () => {
  const run = await currentRun();
  const runs = dirname(run.dir);
  const child = spawn('sleep', ['30']);
  await once(child, 'spawn');
  const dead = join(runs, `dead-${run.id}`);
  const ownerless = join(runs, `ownerless-${run.id}`);
  for (const dir of [dead, ownerless]) await mkdir(join(dir, 'api-1'), { recursive: true });
  await writeFile(join(dead, 'owner.json'), JSON.stringify(await identify(child.pid ?? 0)));
  // Another test process may sweep at the same time: what counts is what is there afterwards.
  await sweepLeftovers();
  expect([existsSync(dead), existsSync(ownerless), existsSync(run.dir)]).toEqual([true, false, true]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await sweepLeftovers();
  expect([existsSync(dead), existsSync(run.dir)]).toEqual([false, true]);
});

test('a folder of a server is a leftover until it is removed', async () => {
  const run = await currentRun();
  const dir = await createRunFolder('thing');
  expect((await leftovers(run)).folders).toEqual([dir.slice(run.dir.length + 1)]);
  await removeRunFolder(dir);
  expect((await leftovers(run)).folders).toEqual([]);
});

test('a process that names the folder of the run is a leftover', async () => {
  const run = await currentRun();
  const child = spawn('tail', ['-f', '/dev/null', join(run.dir, 'owner.json')], { stdio: 'ignore' });
  await once(child, 'spawn');
  expect((await leftovers(run)).processes).toEqual([expect.stringContaining(`${child.pid} `)]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect((await leftovers(run)).processes).toEqual([]);
});
