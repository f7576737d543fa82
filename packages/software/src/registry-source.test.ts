import { createServer, type ServerResponse } from 'node:http';
import type { Clock } from '@flotilla/pace';
import { currentPlatform, listImageParts, RegistryClient } from '@flotilla/registry';
import { MemoryBlobs, writeImage, writeLayer } from '@flotilla/registry/testing';
import { afterEach, expect, test } from 'vitest';
import { createRegistrySource } from './registry-source.ts';

const stack: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of stack.splice(0).reverse()) await resource[Symbol.asyncDispose]();
});

/** Clock whose waits pass at once. */
function quickClock(): Clock & { waited(): number } {
  let now = 0;
  return {
    now: () => now,
    waited: () => now,
    setTimer(ms, fn) {
      setImmediate(() => {
        now += ms;
        fn();
      });
      return { [Symbol.dispose]: () => {} };
    },
  };
}

/** Starts a mirror that serves image `good` of every repository; `misbehave` may answer a manifest request first. */
async function startMirror(misbehave: (repository: string, response: ServerResponse) => boolean, platform = currentPlatform()) {
  const store = new MemoryBlobs();
  const layer = await writeLayer(store, { content: { files: [{ path: 'f', content: { bytes: 'x' } }] }, compression: 'gzip', level: 1 });
  const image = await writeImage(store, { layers: [layer], platform });
  const { manifests, blobs } = await listImageParts(store, image);
  const digests = new Map([...manifests, ...blobs, image].map((part) => [part.digest, part.mediaType]));
  const server = createServer((request, response) => {
    void (async () => {
      const [, repository = '', kind, name = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? [];
      if (kind === 'manifests' && misbehave(repository, response)) return;
      const digest = name === 'good' ? image.digest : name;
      if (!digests.has(digest)) return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': digests.get(digest), 'docker-content-digest': digest });
      response.end(request.method === 'HEAD' ? undefined : await store.readBlob(digest, 1e6));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.push({ [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()) });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  // no server listens there, as for the source of a disconnected node
  const rules = [{ prefix: '127.0.0.1:1', mirrors: [{ location: `127.0.0.1:${address.port}`, scheme: 'http' as const }] }];
  const client = new RegistryClient({ rules, insecureHosts: ['127.0.0.1:1'], clock: quickClock(), retry: { attempts: 2 } });
  stack.push(client);
  const clock = quickClock();
  const source = createRegistrySource(client, { refusedTries: 1, retryForMs: 120_000, clock, random: () => 0.5 });
  const resolve = (repository: string) => source.resolve(`127.0.0.1:1/${repository}:good`, new AbortController().signal);
  return { resolve, clock };
}

test.each([
  { of: { os: 'linux', architecture: 's390x' }, name: 'linux/s390x' },
  { of: { os: 'windows', architecture: currentPlatform().architecture }, name: `windows/${currentPlatform().architecture}` },
])('an image of $name alone is refused with its platform and the node’s', async ({ of, name }) => {
  const { resolve } = await startMirror(() => false, of);
  const { os, architecture } = currentPlatform();
  await expect(resolve('foreign')).rejects.toMatchObject({
    code: 'FLOTILLA_REGISTRY_NO_PLATFORM',
    message: expect.stringContaining(`no image for ${os}/${architecture}; it has ${name}`),
  });
});

test('an image that says no platform, as artifacts do, is taken', async () => {
  const { resolve } = await startMirror(() => false, { os: '', architecture: '' });
  expect(await resolve('artifact')).toMatchObject({ layers: [{ digest: expect.stringMatching(/^sha256:/) }] });
});

const faults: Record<string, (response: ServerResponse) => void> = {
  '502': (response) => void response.writeHead(502).end('<html>'),
  '503': (response) => void response.writeHead(503).end(),
  '429 with Retry-After': (response) => void response.writeHead(429, { 'retry-after': '10' }).end(),
  'a cut connection': (response) => void response.socket?.resetAndDestroy(),
};

test.each(Object.entries(faults))('an image that gets %s for a while is waited for although others are served', async (_, fail) => {
  let failures = 0;
  const { resolve } = await startMirror((repository, response) => {
    if (repository !== 'bad' || failures >= 12) return false;
    failures++;
    fail(response);
    return true;
  });
  await resolve('neighbour');
  expect(await resolve('bad')).toMatchObject({ digest: expect.stringMatching(/^sha256:/) });
  expect(failures).toBe(12);
});

test.each([401, 403, 404])(
  'an image that the mirror refuses with %d is not waited for at a source that is never reached',
  async (status) => {
    const { resolve, clock } = await startMirror((repository, response) => {
      if (repository !== 'bad') return false;
      response.writeHead(status).end();
      return true;
    });
    await resolve('neighbour');
    await expect(resolve('bad')).rejects.toThrow(String(status));
    expect(clock.waited()).toBe(0);
  },
);
