import { playChains, trustByRule } from '@flotilla/http/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { connect } from './redis.ts';

test("the CA of the queue's store is trusted as Go trusts it", async () => {
  const log = createLogger({ name: 'test', level: 'silent' });
  const outcomes = await playChains(async ({ hostname, port }, redisCa) => {
    const client = connect(new URL(`rediss://${hostname}:${port}`), { redisCa, log }, {});
    try {
      return await new Promise<string>((resolve, reject) => client.once('connect', () => resolve('there')).once('error', reject));
    } finally {
      client.disconnect();
    }
  });
  expect(outcomes).toEqual(trustByRule);
});
