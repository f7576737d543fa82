import { text } from 'node:stream/consumers';
import { playChains, trustByRule } from '@flotilla/http/testing';
import { expect, test } from 'vitest';
import { BoundedConnector } from './bounded-connector.ts';

test("the CA of the queue's store is trusted as Go trusts it", async () => {
  const outcomes = await playChains(async ({ hostname, port }, ca) => {
    const socket = await new BoundedConnector({ host: hostname, port, tls: { ca } }).connect();
    socket.write('GET / HTTP/1.0\r\n\r\n');
    return text(socket);
  });
  expect(outcomes).toEqual(trustByRule);
});
