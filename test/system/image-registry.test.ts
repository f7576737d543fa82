import { createHash, randomBytes } from 'node:crypto';
import { currentRun, leftovers } from '@flotilla/control-plane/processes';
import { REGISTRY_LOGIN, type Registry, startRegistry } from '@flotilla/control-plane/servers';
import { startRelay } from '@flotilla/control-plane/simulators';
import { expect, test } from 'vitest';

const digestOf = (body: Buffer) => `sha256:${createHash('sha256').update(body).digest('hex')}`;

/** Uploads one blob into the repository `test`; returns its digest. */
async function pushBlob(registry: Registry, body: Buffer): Promise<string> {
  const begun = await fetch(`${registry.url}/v2/test/blobs/uploads/`, { method: 'POST' });
  expect(begun.status).toBe(202);
  const location = new URL(begun.headers.get('location') ?? '', registry.url);
  location.searchParams.set('digest', digestOf(body));
  const done = await fetch(location, {
    method: 'PUT',
    body: new Uint8Array(body),
    headers: { 'content-type': 'application/octet-stream' },
  });
  expect(done.status).toBe(201);
  return digestOf(body);
}

test('a registry counts what it has served, ranges included, and leaves nothing', async () => {
  const run = await currentRun();
  const registry = await startRegistry();
  const digest = await pushBlob(registry, randomBytes(100_000));
  const seen = (await registry.served()).requests.length;
  const url = `${registry.url}/v2/test/blobs/${digest}`;
  expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(100_000);
  const part = await fetch(url, { headers: { range: 'bytes=90000-' } });
  expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 10_000]);
  await fetch(url, { method: 'HEAD' });
  await expect.poll(async () => (await registry.served({ since: seen })).requests.length).toBe(3);
  const served = await registry.served({ since: seen });
  expect(served.requests.map(({ method, status }) => [method, status])).toEqual([
    ['GET', 200],
    ['GET', 206],
    ['HEAD', 200],
  ]);
  expect(served.byDigest.get(digest)).toBe(110_000);
  await registry.stop();
  expect(await leftovers(run)).toMatchObject({ processes: [], folders: [] });
});

test('a registry with a login refuses everybody else', async () => {
  await using registry = await startRegistry({ auth: true });
  const login = (password: string) => ({
    authorization: `Basic ${Buffer.from(`${REGISTRY_LOGIN.username}:${password}`).toString('base64')}`,
  });
  const statusWith = async (headers: Record<string, string>) => (await fetch(`${registry.url}/v2/`, { headers })).status;
  expect(await statusWith({})).toBe(401);
  expect(await statusWith(login('wrong'))).toBe(401);
  expect(await statusWith(login(REGISTRY_LOGIN.password))).toBe(200);
});

test('a cut transfer reaches the client up to the byte, counted by the proxy', async () => {
  await using registry = await startRegistry();
  const digest = await pushBlob(registry, randomBytes(20_000_000));
  const seen = (await registry.served()).requests.length;
  await using proxy = await startRelay(registry.url, { seed: 3, faults: { cutAfterBytes: [1_000_000, 2_000_000], cuts: 1 } });
  const response = await fetch(`${proxy.url}/v2/test/blobs/${digest}`);
  let got = 0;
  const reading = (async () => {
    for await (const chunk of response.body ?? []) got += chunk.length;
  })();
  await expect(reading).rejects.toThrow();
  const { toClient, cut } = proxy.counts();
  expect(cut).toBe(1);
  // The headers are the difference.
  expect(toClient - got).toBeGreaterThan(0);
  expect(toClient - got).toBeLessThan(1_000);
  await expect.poll(async () => (await registry.served({ since: seen })).requests.length).toBe(1);
  const written = (await registry.served({ since: seen })).byDigest.get(digest) ?? 0;
  console.log(`cut after ${got} bytes: the proxy counted ${toClient}, the registry had written ${written} of 20000000`);
  expect(written).toBeGreaterThanOrEqual(got);
  const whole = await fetch(`${proxy.url}/v2/test/blobs/${digest}`);
  expect((await whole.arrayBuffer()).byteLength).toBe(20_000_000);
});
