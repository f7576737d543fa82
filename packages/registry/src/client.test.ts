import { randomBytes } from 'node:crypto';
import type { Clock } from '@flotilla/pace';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { RegistryClient } from './client.ts';
import type { RegistryClientOptions } from './client-options.ts';
import { type ImageReference, parseImageReference } from './image-reference.ts';
import { MediaType } from './manifest.ts';
import { resolveImage } from './resolve.ts';

const MANIFEST = { schemaVersion: 2, mediaType: MediaType.ociManifest, layers: [] };

let registry: HostileRegistry;
let image: ImageReference;
const clients: RegistryClient[] = [];
const waits: number[] = [];

/** Clock whose waits pass at once. */
const clockAt = (now: () => number): Clock => ({
  now,
  setTimer(ms, fn) {
    waits.push(ms);
    queueMicrotask(fn);
    return { [Symbol.dispose]: () => {} };
  },
});

function makeClient(options: RegistryClientOptions = {}): RegistryClient {
  const client = new RegistryClient({
    insecureHosts: [registry.host, 'localhost:1'],
    timeouts: { headersMs: 400, bodyIdleMs: 400, documentMs: 1500 },
    clock: clockAt(Date.now),
    random: () => 0.5,
    ...options,
    retry: { attempts: 3, ...options.retry },
  });
  clients.push(client);
  return client;
}

beforeEach(async () => {
  registry = await startHostileRegistry();
  image = parseImageReference(`${registry.host}/team/app:1`);
  waits.length = 0;
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await registry[Symbol.asyncDispose]();
});

const readAll = (client: RegistryClient, descriptor: { digest: string; size: number }) =>
  Array.fromAsync(client.streamBlob(image, { mediaType: 'x', ...descriptor })).then((chunks) => Buffer.concat(chunks));

describe('blobs from a bad server', () => {
  test('a connection cut several times is resumed with Range, and no byte is requested twice', async () => {
    const bytes = randomBytes(600_000);
    const blob = registry.serve(bytes);
    const starts: number[] = [];
    registry.handlers.push((request, response) => {
      const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      starts.push(start);
      if (start > 400_000) return false;
      response.writeHead(start ? 206 : 200, { 'content-length': bytes.length - start, 'content-range': `bytes ${start}-/${bytes.length}` });
      response.write(bytes.subarray(start, start + 150_000), () => setImmediate(() => response.destroy()));
      return true;
    });
    expect((await readAll(makeClient(), blob)).equals(bytes)).toBe(true);
    expect(starts).toEqual([0, 150_000, 300_000, 450_000]);
  });

  test('a server without ranges is read again from the start and the known part skipped', async () => {
    const bytes = randomBytes(200_000);
    const blob = registry.serve(bytes);
    let first = true;
    registry.handlers.push((_request, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      if (first) response.write(bytes.subarray(0, 90_000), () => setImmediate(() => response.destroy()));
      else response.end(bytes);
      first = false;
      return true;
    });
    expect((await readAll(makeClient(), blob)).equals(bytes)).toBe(true);
  });

  test.each([
    { name: 'wrong bytes', code: 'DIGEST_MISMATCH', body: Buffer.alloc(100, 'y') },
    { name: 'a body longer than its descriptor', code: 'TOO_LARGE', body: Buffer.alloc(200, 'x') },
    { name: 'a body that always ends early', code: 'UNREACHABLE', body: Buffer.alloc(50, 'x') },
  ])('$name end as $code', async ({ code, body }) => {
    const blob = registry.serve(Buffer.alloc(100, 'x'));
    registry.handlers.push((_request, response) => {
      response.writeHead(200).end(body);
      return true;
    });
    const failure = expect.objectContaining({
      code: `FLOTILLA_REGISTRY_${code}`,
      host: registry.host,
      image: `${registry.host}/team/app:1`,
    });
    await expect(readAll(makeClient(), blob)).rejects.toEqual(failure);
  });

  test('an endless body is left at the descriptor’s size', async () => {
    const blob = registry.serve(Buffer.alloc(1000, 'x'));
    let sent = 0;
    registry.handlers.push((_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) sent += 16_384;
      };
      response.on('drain', more);
      more();
      return true;
    });
    await expect(readAll(makeClient(), blob)).rejects.toThrow(/longer than its 1000 bytes/);
    expect(sent).toBeLessThan(16 * 2 ** 20);
  });

  test('a server that drips a byte at a time is given up, although it is never silent', async () => {
    const blob = registry.serve(Buffer.alloc(1000, 'x'));
    registry.handlers.push((_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
      return true;
    });
    await expect(readAll(makeClient({ stall: { windowMs: 150, minBytes: 500 } }), blob)).rejects.toThrow(/fewer than 500 bytes in 150 ms/);
  });

  test('a silent server is given up after the header time-out', async () => {
    registry.handlers.push(() => true);
    await expect(makeClient({ retry: { attempts: 1 } }).fetchManifest(image)).rejects.toMatchObject({
      code: 'FLOTILLA_REGISTRY_UNREACHABLE',
    });
  });

  test('an abort ends the stream with ABORTED', async () => {
    const blob = registry.serve(Buffer.alloc(1000, 'x'));
    const stop = new AbortController();
    registry.handlers.push((_request, response) => {
      response.writeHead(200).write('x', () => stop.abort());
      return true;
    });
    const stream = makeClient().streamBlob(image, blob, { signal: stop.signal });
    await expect(Array.fromAsync(stream)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_ABORTED' });
  });
});

describe('manifests from a bad server', () => {
  const answerWith = (body: string, headers: Record<string, string> = {}) =>
    registry.handlers.push((_request, response) => {
      response.writeHead(200, { 'content-type': MediaType.ociManifest, ...headers }).end(body);
      return true;
    });

  test.each([
    { name: 'no JSON', body: '{', code: 'BAD_MANIFEST' },
    { name: 'wrong types', body: JSON.stringify({ ...MANIFEST, layers: 'none' }), code: 'BAD_MANIFEST' },
    {
      name: 'a negative size',
      body: JSON.stringify({ ...MANIFEST, config: { mediaType: 'x', digest: `sha256:${'0'.repeat(64)}`, size: -1 } }),
      code: 'BAD_MANIFEST',
    },
    {
      name: 'a digest with a path in it',
      body: JSON.stringify({ ...MANIFEST, config: { mediaType: 'x', digest: 'sha256:../../x', size: 1 } }),
      code: 'BAD_MANIFEST',
    },
    {
      name: 'an old schema',
      body: JSON.stringify({ schemaVersion: 1, mediaType: 'application/vnd.docker.distribution.manifest.v1+json' }),
      code: 'BAD_MANIFEST',
    },
    { name: 'very deep JSON', body: `{"layers":${'['.repeat(500_000)}${']'.repeat(500_000)}}`, code: 'BAD_MANIFEST' },
    { name: 'more than 4 MiB', body: ' '.repeat(5 * 2 ** 20), code: 'TOO_LARGE' },
  ])('$name: $code', async ({ body, code }) => {
    answerWith(body);
    await expect(resolveImage(makeClient(), image)).rejects.toMatchObject({ code: `FLOTILLA_REGISTRY_${code}` });
  });

  test('a configuration of more than 8 MiB is refused before it is asked for, with the fix', async () => {
    const size = 8 * 2 ** 20 + 1;
    answerWith(JSON.stringify({ ...MANIFEST, config: { mediaType: 'x', digest: `sha256:${'0'.repeat(64)}`, size } }));
    const message = /has a configuration of 8388609 bytes, and at most 8388608 are read; build it with fewer labels and less history/;
    await expect(resolveImage(makeClient(), image)).rejects.toMatchObject({
      code: 'FLOTILLA_REGISTRY_TOO_LARGE',
      message: expect.stringMatching(message),
    });
    expect(registry.requests).toHaveLength(1);
  });

  test('a tag’s manifest that differs from the server’s own digest header is refused', async () => {
    answerWith('{}', { 'docker-content-digest': `sha256:${'1'.repeat(64)}` });
    await expect(makeClient().fetchManifest(image)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_DIGEST_MISMATCH' });
  });

  test('indexes nested without end are refused', async () => {
    const platform = { os: 'linux', architecture: 'amd64' };
    let inner = registry.serve(Buffer.from('{}'), MediaType.ociManifest);
    for (let depth = 0; depth < 6; depth++) {
      const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: [{ ...inner, platform }] };
      inner = registry.serve(Buffer.from(JSON.stringify(index)), MediaType.ociIndex, '1');
    }
    await expect(resolveImage(makeClient(), image, { platform })).rejects.toThrow(/nested deeper/);
  });

  test('a missing platform is named with those there are', async () => {
    const index = {
      schemaVersion: 2,
      manifests: [{ ...registry.serve(Buffer.from('{}')), platform: { os: 'linux', architecture: 's390x' } }],
    };
    registry.serve(Buffer.from(JSON.stringify(index)), MediaType.ociIndex, '1');
    await expect(resolveImage(makeClient(), image)).rejects.toThrow(/it has linux\/s390x/);
  });
});

describe('retries, mirrors and redirects', () => {
  const refuse = (status: number, times: number, headers: Record<string, string> = {}) =>
    registry.handlers.push((_request, response) => {
      if (times-- <= 0) return false;
      response.writeHead(status, headers).end();
      return true;
    });

  test('429 is tried again after what Retry-After asks, plus jitter', async () => {
    registry.serve(Buffer.from(JSON.stringify(MANIFEST)), MediaType.ociManifest, '1');
    refuse(429, 2, { 'retry-after': '7' });
    await makeClient().fetchManifest(image);
    expect(waits).toEqual([7125, 7250]);
  });

  test('a longer wait than the policy has is the caller’s to make: it hears of it at once, for documents and blobs', async () => {
    const blob = registry.serve(randomBytes(100));
    refuse(429, 99, { 'retry-after': '3600' });
    const asked = { code: 'FLOTILLA_REGISTRY_RATE_LIMITED', retryAfterMs: 3_600_000, message: expect.stringContaining('wait 3600 s') };
    await expect(makeClient().fetchManifest(image)).rejects.toMatchObject(asked);
    await expect(readAll(makeClient(), blob)).rejects.toMatchObject(asked);
    expect([registry.requests.length, waits]).toEqual([2, []]);
  });

  test.each([
    { status: 401, code: 'UNAUTHORIZED', requests: 1 },
    { status: 403, code: 'UNAUTHORIZED', requests: 1 },
    { status: 404, code: 'NOT_FOUND', requests: 1 },
    { status: 400, code: 'BAD_RESPONSE', requests: 1 },
    { status: 429, code: 'RATE_LIMITED', requests: 3 },
    { status: 503, code: 'UNAVAILABLE', requests: 3 },
  ])('$status is $code after $requests requests', async ({ status, code, requests }) => {
    refuse(status, 99);
    await expect(makeClient().fetchManifest(image)).rejects.toMatchObject({ code: `FLOTILLA_REGISTRY_${code}`, status });
    expect(registry.requests).toHaveLength(requests);
  });

  test('mirrors are asked in order, the source last, and a dead one is asked last afterwards', async () => {
    registry.serve(Buffer.from(JSON.stringify(MANIFEST)), MediaType.ociManifest, '1');
    const places = ['localhost:1/dead', `${registry.host}/none`, `${registry.host}/copy`];
    const rules = [{ prefix: 'registry.example/team', mirrors: places.map((location) => ({ location })) }];
    refuse(404, 1);
    const client = makeClient({ rules });
    await client.fetchManifest(parseImageReference('registry.example/team/app:1'));
    expect(registry.requests).toEqual(['GET /v2/none/app/manifests/1', 'GET /v2/copy/app/manifests/1']);
    expect(waits).toHaveLength(1);
    await client.fetchManifest(parseImageReference('registry.example/team/app:1'));
    expect(waits).toHaveLength(1);
  });

  test('a refusal whose words drip in counts without them: the next place is asked', async () => {
    await using mirror = await startHostileRegistry();
    const bytes = randomBytes(1000);
    const blob = registry.serve(bytes);
    mirror.handlers.push((_request, response) => {
      response.writeHead(404);
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
      return true;
    });
    const rules = [{ prefix: registry.host, mirrors: [{ location: mirror.host }] }];
    const client = makeClient({ rules, insecureHosts: [registry.host, mirror.host] });
    expect(await readAll(client, blob)).toEqual(bytes);
    expect(mirror.requests).toHaveLength(1);
  });

  test('a redirect loop ends, and a redirect to another host does not take the credentials along', async () => {
    await using other = await startHostileRegistry();
    other.serve(Buffer.from(JSON.stringify(MANIFEST)), MediaType.ociManifest, '1');
    let target = `http://${registry.host}/v2/loop`;
    registry.handlers.push((request, response) => {
      if (!request.headers.authorization) response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      else response.writeHead(307, { location: target }).end();
      return true;
    });
    const client = makeClient({ credentials: { auths: { [registry.host]: { username: 'u', password: 'p' } } } });
    await expect(client.fetchManifest(image)).rejects.toThrow(/more than 5 redirects/);
    target = `http://${other.host}/v2/x/manifests/1`;
    await client.fetchManifest(image);
    expect(other.authorizations).toEqual([undefined]);
    expect(registry.authorizations.filter(Boolean).length).toBeGreaterThan(0);
  });
});

describe('authentication', () => {
  test('a bearer token is fetched once for parallel calls and renewed when it ends', async () => {
    const blob = registry.serve(Buffer.from('x'));
    let tokens = 0;
    let now = 1_000_000;
    registry.handlers.push((request, response, path) => {
      if (path.startsWith('/token')) {
        response.end(JSON.stringify({ token: `t${++tokens}`, expires_in: 100 }));
        return true;
      }
      if (request.headers.authorization === `Bearer t${tokens}`) return false;
      const challenge = `Bearer realm="http://${registry.host}/token",service="s",scope="repository:team/app:pull"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    });
    const credentials = { auths: { [registry.host]: { username: 'u', password: 'p' } } };
    const client = makeClient({ credentials, clock: clockAt(() => now) });
    await Promise.all([readAll(client, blob), readAll(client, blob), readAll(client, blob)]);
    expect(tokens).toBe(1);
    const token = registry.requests.find((r) => r.includes('/token'));
    expect(token).toBe('GET /token?service=s&scope=repository%3Ateam%2Fapp%3Apull');
    expect(registry.authorizations).toContain(`Basic ${Buffer.from('u:p').toString('base64')}`);
    now += 95_000;
    await readAll(client, blob);
    expect(tokens).toBe(2);
  });

  const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;
  test.each([
    { name: 'after one that we do not know', challenges: ['Negotiate', 'Basic realm="x"'] },
    { name: 'after one that we do not know, in one header', challenges: 'Negotiate abc==, Basic realm="a, bearer b"' },
    { name: 'alone, without parameters', challenges: 'basic' },
    { name: 'beside one for a token that says no server', challenges: ['Basic realm="x"', 'Bearer'] },
  ])('a challenge for a password is met where it comes $name', async ({ challenges }) => {
    registry.serve(Buffer.from(JSON.stringify(MANIFEST)), MediaType.ociManifest, '1');
    registry.handlers.push((request, response) => {
      if (request.headers.authorization === basic) return false;
      response.writeHead(401, { 'www-authenticate': challenges }).end();
      return true;
    });
    await makeClient({ credentials: { auths: { [registry.host]: { username: 'u', password: 'p' } } } }).fetchManifest(image);
    expect(registry.authorizations).toEqual([undefined, basic]);
  });

  test.each([
    { answer: { token: '', access_token: 't' } },
    { answer: { token: null, access_token: 't' } },
    { answer: { token: 't', expires_in: 0 } },
    { answer: { token: 't', expires_in: null } },
  ])('a token server that says what it has not is understood: $answer', async ({ answer }) => {
    registry.serve(Buffer.from(JSON.stringify(MANIFEST)), MediaType.ociManifest, '1');
    registry.handlers.push((request, response, path) => {
      if (request.headers.authorization === 'Bearer t') return false;
      const isToken = path.startsWith('/token');
      // A password is asked for by another challenge, which a token goes before.
      const challenge = `Basic realm="x", Bearer realm="http://${registry.host}/token",service="s"`;
      if (isToken) response.end(JSON.stringify(answer));
      else response.writeHead(401, { 'www-authenticate': challenge }).end();
      return true;
    });
    await makeClient().fetchManifest(image);
    expect(registry.authorizations.at(-1)).toBe('Bearer t');
  });

  test.each([
    { status: 429, headers: { 'retry-after': '7' }, code: 'RATE_LIMITED', retryAfterMs: 7_000, says: 'answered 429 and asks to wait 7 s' },
    { status: 503, headers: {}, code: 'UNAVAILABLE', retryAfterMs: undefined, says: 'answered 503' },
    { status: 403, headers: {}, code: 'UNAUTHORIZED', retryAfterMs: undefined, says: 'answered 403; check the pull secret' },
  ])('a token server’s $status is $code, with the wait that it asks for', async ({ status, headers, code, retryAfterMs, says }) => {
    registry.handlers.push((_request, response, path) => {
      if (path.startsWith('/token')) response.writeHead(status, headers).end();
      else response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${registry.host}/token",service="s"` }).end();
      return true;
    });
    const failure = await makeClient({ retry: { attempts: 2 } })
      .fetchManifest(image)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: `FLOTILLA_REGISTRY_${code}`, retryAfterMs, message: expect.stringContaining(says) });
    expect(String(failure).includes('check the pull secret')).toBe(status === 403);
    expect(waits).toEqual(status === 403 ? [] : [125 + (retryAfterMs ?? 0)]);
  });

  test('credentials are not sent to a token server over plain HTTP for an HTTPS registry', async () => {
    registry.handlers.push((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer realm="ftp://elsewhere/token"' }).end();
      return true;
    });
    await expect(makeClient().fetchManifest(image)).rejects.toThrow(/is not an HTTPS URL/);
  });
});

describe('blobs by ranges', () => {
  /** Range headers of all requests. */
  function watchRanges(): (string | undefined)[] {
    const ranges: (string | undefined)[] = [];
    registry.handlers.push((request) => {
      ranges.push(request.headers.range);
      return false;
    });
    return ranges;
  }
  const readRanges = async (client: RegistryClient, blob: { digest: string; size: number }, offset: number, before = async () => {}) =>
    Buffer.concat(
      await Array.fromAsync(client.streamRanges(image, { mediaType: 'x', ...blob }, { offset, ranges: { bytes: 100_000, before } })),
    );

  test('a blob is asked for in ranges from the offset on, each after the bytes before it were taken', async () => {
    const bytes = randomBytes(250_000);
    const blob = registry.serve(bytes);
    const ranges = watchRanges();
    const asked: number[] = [];
    const read = await readRanges(makeClient(), blob, 20_000, async () => void asked.push(ranges.length));
    expect(read.equals(bytes.subarray(20_000))).toBe(true);
    expect(ranges).toEqual(['bytes=20000-119999', 'bytes=120000-219999', 'bytes=220000-249999']);
    expect(asked).toEqual([0, 1, 2]);
  });

  test('a range that is cut goes on where it was cut', async () => {
    const bytes = randomBytes(150_000);
    const blob = registry.serve(bytes);
    const ranges = watchRanges();
    registry.handlers.push((request, response) => {
      if (request.headers.range !== 'bytes=0-99999') return false;
      response.writeHead(206, { 'content-length': 100_000, 'content-range': `bytes 0-99999/${bytes.length}` });
      response.write(bytes.subarray(0, 70_000), () => setImmediate(() => response.destroy()));
      return true;
    });
    expect((await readRanges(makeClient(), blob, 0)).equals(bytes)).toBe(true);
    expect(ranges).toEqual(['bytes=0-99999', 'bytes=70000-149999']);
  });

  test('an exception of the reader before a range is its own, and is not tried again', async () => {
    const blob = registry.serve(randomBytes(10_000));
    const full = async (): Promise<void> => {
      throw new TypeError('the store is full');
    };
    await expect(readRanges(makeClient(), blob, 0, full)).rejects.toThrow(TypeError);
    expect(registry.requests).toEqual([]);
  });

  test('everything that is read is taken from the bandwidth, before it is asked for where its size is known', async () => {
    const bytes = randomBytes(90_000);
    const blob = registry.serve(bytes);
    registry.serve(Buffer.from(JSON.stringify(MANIFEST)), MediaType.ociManifest, '1');
    const ranges = watchRanges();
    const taken: [number, number][] = [];
    const take = async (size: number): Promise<number> => {
      const granted = Math.min(size, 40_000);
      taken.push([granted, ranges.length]);
      return granted;
    };
    const client = makeClient({ bandwidth: { take } });
    expect((await readAll(client, blob)).equals(bytes)).toBe(true);
    expect(taken).toEqual([
      [40_000, 0],
      [40_000, 1],
      [10_000, 2],
    ]);
    await client.fetchManifest(image);
    expect(taken.at(-1)).toEqual([Buffer.byteLength(JSON.stringify(MANIFEST)), 4]);
  });

  test('what a server without ranges sends again is paid for, too', async () => {
    const bytes = randomBytes(300_000);
    const blob = registry.serve(bytes);
    registry.handlers.push((_, response) => Boolean(response.writeHead(200, { 'content-length': bytes.length }).end(bytes)));
    let taken = 0;
    const take = async (size: number): Promise<number> => {
      taken += Math.min(size, 40_000);
      return Math.min(size, 40_000);
    };
    const client = makeClient({ bandwidth: { take } });
    const ranges = { bytes: 50_000, before: async () => undefined };
    const got = await Array.fromAsync(client.streamRanges(image, blob, { offset: 250_000, ranges }));
    expect(Buffer.concat(got).equals(bytes.subarray(250_000))).toBe(true);
    expect(taken).toBeGreaterThan(280_000);
  });

  test('a server without ranges is read whole, at the bandwidth too', async () => {
    const bytes = randomBytes(300_000);
    const blob = registry.serve(bytes);
    registry.handlers.push((_, response) => {
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      return true;
    });
    const taken: number[] = [];
    const take = async (size: number): Promise<number> => {
      taken.push(Math.min(size, 40_000));
      return Math.min(size, 40_000);
    };
    const client = makeClient({ bandwidth: { take } });
    expect((await readAll(client, blob)).equals(bytes)).toBe(true);
    expect(registry.requests).toHaveLength(1);
    expect(taken[0]).toBe(40_000);
    expect(taken.slice(1).reduce((sum, size) => sum + size, 0)).toBeGreaterThan(150_000);
  });
});
