import type { Socket } from 'node:net';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { ChannelClient, serveChannel } from './channel.ts';

const PSK = Buffer.alloc(32, 1);

/** A server that answers when it is let, a client of three connections, and what the server has seen. */
async function startChannel() {
  const sockets = new Set<Socket>();
  const callers: string[] = [];
  const answer = Promise.withResolvers<void>();
  const server = await serveChannel({
    address: '127.0.0.1',
    port: 0,
    keyOf: () => PSK,
    handle: async ({ identity }, response) => {
      callers.push(identity);
      if (response.socket) sockets.add(response.socket);
      await answer.promise;
      response.end('{}');
    },
  });
  const client = new ChannelClient({ address: '127.0.0.1', port: server.port }, { identity: 'one', psk: PSK }, 3);
  const call = async (): Promise<void> => {
    const opened = await client.open({ method: 'POST', path: '/', timeoutMs: 10_000 });
    await Array.fromAsync(opened);
  };
  return {
    call,
    callers,
    sockets,
    answer: () => answer.resolve(),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('calls one after the other share a connection', async () => {
  await using channel = await startChannel();
  channel.answer();
  for (let index = 0; index < 5; index += 1) await channel.call();
  expect(channel.callers).toHaveLength(5);
  expect(channel.sockets.size).toBe(1);
});

test('calls at once make no more connections than they may, and the others follow on them', async () => {
  await using channel = await startChannel();
  const calls = Array.from({ length: 10 }, () => channel.call());
  await eventually(() => channel.callers.length >= 3, 'the first calls');
  channel.answer();
  await Promise.all(calls);
  expect(channel.callers).toHaveLength(10);
  expect(channel.sockets.size).toBe(3);
});

test('a caller has its name on every connection, also on those after its first', async () => {
  await using channel = await startChannel();
  channel.answer();
  await channel.call();
  await Promise.all(Array.from({ length: 5 }, () => channel.call()));
  expect(new Set(channel.callers)).toEqual(new Set(['one']));
  expect(channel.sockets.size).toBeGreaterThan(1);
});
