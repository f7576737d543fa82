import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identify } from '../processes/identity.ts';
import { takeLock } from './build-lock.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('is held by one at a time', async () => {
  const file = join(folder, 'deep/lock');
  const order: string[] = [];
  const waits: number[] = [];
  const first = await takeLock(file, () => undefined);
  const second = takeLock(file, (pid) => waits.push(pid)).then(async (lock) => {
    order.push('second');
    await lock[Symbol.asyncDispose]();
  });
  await expect.poll(() => waits).toEqual([process.pid]);
  order.push('first');
  await first[Symbol.asyncDispose]();
  await second;
  expect(order).toEqual(['first', 'second']);
});

test('is taken over from a dead owner', async () => {
  const file = join(folder, 'lock');
  const child = spawn('sleep', ['30']);
  await once(child, 'spawn');
  await writeFile(file, JSON.stringify(await identify(child.pid ?? 0)));
  child.kill('SIGKILL');
  await once(child, 'exit');
  await using lock = await takeLock(file, () => expect.unreachable('waited for a dead process'));
  expect(lock).toBeDefined();
});
