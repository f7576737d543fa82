import { ClusterVersion } from '@flotilla/api/config';
import { answer, type Reply, startHostileService } from '@flotilla/http/testing';
import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { createReleaseSource } from './release-source.ts';

const { signal } = new AbortController();
const graph = { nodes: [{ version: '4.14.9' }, { version: '4.15.1' }], edges: [[0, 1]] };
/** A registry's answer to a question for something that it does not have. */
const missing = answer({ errors: [{ code: 'MANIFEST_UNKNOWN' }] }, 404);

async function world(...replies: Reply[]) {
  const service = await startHostileService(...replies);
  const clock = new ManualClock();
  const insecureHosts = [service.url.host];
  const releases = createReleaseSource({ client: { get: async () => undefined }, clock, insecureHosts });
  const cluster = {
    clusterVersion: ClusterVersion.schema.parse({
      metadata: { name: 'version' },
      spec: { clusterID: '00000000-0000-4000-8000-000000000001', upstream: service.url.href },
    }),
    ...{ clusterOperators: [], pools: [], nodes: [], machineSets: [], machines: [] },
  };
  return {
    service,
    clock,
    updates: (channel = 'stable-4.15') => releases.updates({ cluster, channel, version: '4.14.9' }, signal),
    versionOf: () => releases.versionOf(`${service.url.host}/team/release@sha256:${'a'.repeat(64)}`, signal),
    async [Symbol.asyncDispose]() {
      await releases[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

const outcomeOf = (asked: Promise<unknown>) => asked.catch((error: unknown) => String(error));

test('an update graph is asked once for a while, whoever looks how often', async () => {
  await using given = await world(answer(graph));
  for (let look = 0; look < 20; look++) expect(await given.updates()).toEqual(['4.15.1']);
  expect(given.service.requests).toHaveLength(1);
  await given.updates('candidate-4.15');
  expect(given.service.requests).toHaveLength(2);
  await given.clock.advance(5 * 60_000);
  await given.updates();
  expect(given.service.requests).toHaveLength(3);
});

test.each([
  { name: 'an update graph', reply: 503 as Reply, ask: 'updates' as const },
  { name: 'a registry', reply: missing, ask: 'versionOf' as const },
])('$name that fails is asked less and less often, and says the same meanwhile', async ({ reply, ask }) => {
  await using given = await world(reply);
  const first = await outcomeOf(given[ask]());
  for (let look = 0; look < 20; look++) expect(await outcomeOf(given[ask]())).toBe(first);
  const asked = given.service.requests.length;
  const moments: number[] = [];
  for (let second = 1; second <= 180; second++) {
    await given.clock.advance(1_000);
    const before = given.service.requests.length;
    await outcomeOf(given[ask]());
    if (given.service.requests.length > before) moments.push(second);
  }
  expect(asked).toBe(1);
  expect(moments.length).toBeGreaterThanOrEqual(3);
  expect(moments.length).toBeLessThanOrEqual(8);
  const waits = moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0));
  expect(Math.max(...waits)).toBeLessThanOrEqual(61);
});

test('an update graph that is back is believed', async () => {
  await using given = await world(503, answer(graph));
  await expect(given.updates()).rejects.toThrow('503');
  await given.clock.advance(60_000);
  expect(await given.updates()).toEqual(['4.15.1']);
});
