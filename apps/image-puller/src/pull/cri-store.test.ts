import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RegistryClient } from '@flotilla/registry';
import { type Clock, createLogger } from '@flotilla/runtime';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { UNCAPPED } from '../../testing/memory-spoke.ts';
import { PullerErrorCode } from '../errors.ts';
import { Protocol } from '../socket/protocol.ts';
import { openCriStore } from './cri-store.ts';

let folder: string;
const servers: Server[] = [];
const logger = createLogger({ name: 'test', level: 'silent' });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-cri-store-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) server.forceShutdown();
  await rm(folder, { recursive: true, force: true });
});

const socketAt = (name: string): string => join(folder, `${name}.sock`);

async function listen(name: string, server: Server): Promise<string> {
  servers.push(server);
  const socket = socketAt(name);
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
  );
  return socket;
}

/** Starts a runtime that reports its version. */
function runtime(name: string): Promise<string> {
  const server = new Server();
  server.addService(
    { version: Protocol.version },
    {
      version: (_: ServerUnaryCall<object, object>, answer: sendUnaryData<object>) =>
        answer(null, { version: '0.1.0', runtimeName: name, runtimeVersion: 'v2.1', runtimeApiVersion: 'v1' }),
    },
  );
  return listen(name, server);
}

/** Starts a server without a runtime, as containerd with `cri` switched off. */
const stranger = (): Promise<string> => listen('stranger', new Server());

/** Clock whose waits pass once `meanwhile` is done. */
function quickClock(meanwhile: () => Promise<unknown> = async () => {}): Clock {
  let now = 0;
  return {
    now: () => now,
    setTimer(ms, fn) {
      void meanwhile().then(() => {
        now += ms;
        fn();
      });
      return { [Symbol.dispose]: () => {} };
    },
  };
}

function open(sockets: readonly string[], clock = quickClock()) {
  const { signal } = new AbortController();
  return openCriStore({
    sockets,
    credentials: { auths: {} },
    parallelPulls: 2,
    signal,
    retryForMs: 60_000,
    clock,
    random: () => 0,
    logger,
  });
}

test('the first candidate that answers is taken: not one that is absent, no socket, or no runtime', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const sockets = [socketAt('absent'), file, await stranger(), await runtime('crio'), await runtime('containerd')];
  await using store = await open(sockets);
  expect(store.description).toBe(`crio v2.1 at ${socketAt('crio')}`);
});

test('the first of two answering sockets wins', async () => {
  const [one, other] = [await runtime('containerd'), await runtime('crio')];
  await using first = await open([one, other]);
  await using second = await open([other, one]);
  expect([first.description, second.description]).toEqual([`containerd v2.1 at ${one}`, `crio v2.1 at ${other}`]);
});

test('a runtime that comes while no candidate answers is waited for', async () => {
  let late: Promise<string> | undefined;
  await using store = await open(
    [socketAt('absent'), socketAt('late')],
    quickClock(() => (late ??= runtime('late'))),
  );
  expect(store.description).toContain('late v2.1');
});

test.each<[string, () => Promise<string[]>, RegExp]>([
  ['no socket at all', async () => [socketAt('one'), socketAt('other')], /no runtime socket at .*one\.sock or .*other\.sock; mount/],
  ['only one that is no runtime', async () => [socketAt('absent'), await stranger()], /no runtime answers: UNIMPLEMENTED/],
])('%s is unreachable within half a minute', async (_, sockets, message) => {
  const clock = quickClock();
  await expect(open(await sockets(), clock)).rejects.toMatchObject({
    code: PullerErrorCode.storeUnreachable,
    message: expect.stringMatching(message),
  });
  expect(clock.now()).toBeGreaterThan(10_000);
  expect(clock.now()).toBeLessThanOrEqual(30_000);
});

test.each(['containerd', 'cri-o'])('%s without a content service fetches the blobs itself', async (name) => {
  await using client = new RegistryClient();
  const { signal } = new AbortController();
  const options = { credentials: { auths: {} }, parallelPulls: 2, signal, retryForMs: 0, clock: quickClock(), random: () => 0, logger };
  await using store = await openCriStore({ ...options, sockets: [await runtime(name)], fetching: { client, cap: UNCAPPED } });
  expect(store.fetchedBy).toBe('runtime');
  expect(store.listContent).toBeUndefined();
});
