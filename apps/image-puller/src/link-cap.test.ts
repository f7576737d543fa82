import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@flotilla/pace/testing';
import { createClient, createLogger } from '@flotilla/runtime';
import { startScriptedServer } from '@flotilla/runtime/testing';
import { expect, test } from 'vitest';
import { capReader, followCap } from './link-cap.ts';

/** Follows a key whose text, or failure to be read, the test changes. */
async function follow(bytesPerSecond: number | undefined, first: string | Error | undefined) {
  const stop = new AbortController();
  const clock = new ManualClock();
  const warned: string[] = [];
  const key = { value: first };
  const read = async (): Promise<string | undefined> => {
    if (key.value instanceof Error) throw key.value;
    return key.value;
  };
  const destination = { write: (line: string) => void warned.push((JSON.parse(line) as { err: string }).err) };
  const logger = createLogger({ name: 'test', level: 'warn', destination });
  const cap = await followCap({ bytesPerSecond, read, clock, signal: stop.signal, logger });
  const next = async (value: string | Error | undefined): Promise<number | undefined> => {
    key.value = value;
    await clock.advance(3_000);
    return cap.bytesPerSecond;
  };
  return { cap, clock, stop, warned, next };
}

test('the smaller of the hub and the Job counts, when the key appears, changes and goes', async () => {
  const { cap, next } = await follow(1_000_000, undefined);
  expect(cap.bytesPerSecond).toBe(1_000_000);
  expect(await next('300000\n')).toBe(300_000);
  expect(await next('2000000')).toBe(1_000_000);
  expect(await next('400000')).toBe(400_000);
  expect(await next(undefined)).toBe(1_000_000);
});

test('without a cap of the Job the key is the cap, from the start and later', async () => {
  const { cap, next } = await follow(undefined, '300000');
  expect(cap.bytesPerSecond).toBe(300_000);
  expect(await next(undefined)).toBeUndefined();
  expect(await next('16384')).toBe(16_384);
});

test.each(['5 MB', new Error('away')])('a key that cannot be read from the start is a cap all the same: %s', async (first) => {
  const { cap, next } = await follow(undefined, first);
  expect(cap.bytesPerSecond).toBe(16_384);
  expect(await next('300000')).toBe(300_000);
});

test('what cannot be read leaves the last cap, and is said once', async () => {
  const { next, warned } = await follow(undefined, '300000');
  expect(await next(new Error('away'))).toBe(300_000);
  expect(await next('fast')).toBe(300_000);
  expect(await next('1')).toBe(300_000);
  expect(warned).toEqual(['away']);
  expect(await next('400000')).toBe(400_000);
  expect(await next('5 MB')).toBe(400_000);
  expect(warned[1]).toContain('key bandwidth is "5 MB"; write bytes a second');
});

test('nothing is read any more after the end', async () => {
  const { stop, clock, next } = await follow(undefined, '300000');
  stop.abort();
  expect(await next('400000')).toBe(300_000);
  expect(clock.pending).toBe(0);
});

test('the file counts until the API has given a cap, and never after that', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-cap-'));
  await using server = await startScriptedServer();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true }));
  const client = createClient({ kubeconfig: server.kubeconfig });
  stack.defer(() => client.close());
  const read = capReader(dir, client, 'pre-cache');
  const ask = () => read(new AbortController().signal);
  const answers = (status: number, data: object) => {
    server.fallback = (_, response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(data));
  };
  const ours = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'pre-cache-spec' } };
  answers(403, { kind: 'Status', message: 'not yours' });
  expect(await ask()).toBeUndefined();
  await writeFile(join(dir, 'bandwidth'), '100000');
  expect(await ask()).toBe('100000');
  answers(200, { ...ours, data: { bandwidth: '200000' } });
  expect(await ask()).toBe('200000');
  answers(403, { kind: 'Status', message: 'not yours' });
  await expect(ask()).rejects.toThrow('not yours');
  answers(404, { kind: 'Status', message: 'not found' });
  await expect(ask()).rejects.toThrow('ConfigMap pre-cache-spec is gone');
  answers(200, ours);
  expect(await ask()).toBeUndefined();
  expect(await capReader(dir, undefined, 'pre-cache')(new AbortController().signal)).toBe('100000');
});
