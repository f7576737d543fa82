import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { errorMessage } from '@flotilla/api';
import { readBounded } from '@flotilla/http';
import { playChains, playRedirects, redirectsByRule, trustByRule } from '@flotilla/http/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RegistryClient } from './client.ts';
import type { RegistryClientOptions } from './client-options.ts';
import type { Scheme } from './endpoint.ts';
import { parseImageReference } from './image-reference.ts';
import { MediaType } from './manifest.ts';
import { defaultTimeouts, Transport, toNetworkError } from './transport.ts';

const MANIFEST = JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociManifest, layers: [] });
const PASSWORD = 'pa55word';

let tls: { cert: string; key: string };
const stack: AsyncDisposable[] = [];

beforeAll(() => {
  const dir = mkdtempSync(join(tmpdir(), 'flotilla-cert-'));
  const [cert, key] = [join(dir, 'cert'), join(dir, 'key')];
  const names = 'subjectAltName=DNS:registry.test,DNS:auth.test,DNS:localhost,IP:127.0.0.1';
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=test', '-addext', names];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...kind, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  rmSync(dir, { recursive: true });
});
afterEach(async () => {
  for (const resource of stack.splice(0).reverse()) await resource[Symbol.asyncDispose]();
});
afterAll(() => expect(stack).toEqual([]));

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  stack.push({
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return (server.address() as AddressInfo).port;
}

/** A registry that requires a token of `auth.test`, which is the same server. */
const withToken: RequestListener = (request, response) => {
  if (request.url?.startsWith('/token')) return void response.end(JSON.stringify({ token: 'good' }));
  if (request.headers.authorization === 'Bearer good') return void response.end(MANIFEST);
  response.writeHead(401, { 'www-authenticate': 'Bearer realm="https://auth.test/token",service="s"' }).end();
};
const open: RequestListener = (_request, response) => void response.end(MANIFEST);

/** Starts a CONNECT proxy that requires a password and connects every host to one port; `asked` has its requests. */
async function startProxy(target: number, answer: 'tunnel' | 'silence' | 403 = 'tunnel') {
  const asked: string[] = [];
  const server = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end(MANIFEST);
  });
  server.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.on('error', () => {});
    if (answer === 'silence') return;
    if (answer === 403) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const wanted = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`;
    if (request.headers['proxy-authorization'] !== wanted) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const upstream = connect(target, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  });
  const port = await listen(server);
  return { asked, url: (password: string) => `http://user:${password}@127.0.0.1:${port}` };
}

function makeClient(options: RegistryClientOptions): RegistryClient {
  const timeouts = { connectMs: 1_000, headersMs: 600, documentMs: 20_000 };
  const client = new RegistryClient({ timeouts, retry: { attempts: 1 }, ...options });
  stack.push(client);
  return client;
}

// this name does not resolve, so every request to it used the proxy
const image = parseImageReference('registry.test/team/app:1');

describe('through a proxy', () => {
  test('registry and token server are both reached, with the password of the proxy', async () => {
    const proxy = await startProxy(await listen(createServer(tls, withToken)));
    const client = makeClient({ ca: tls.cert, proxy: { https: proxy.url(PASSWORD) } });
    expect((await client.fetchManifest(image)).bytes.toString()).toBe(MANIFEST);
    expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT registry.test:443', 'CONNECT auth.test:443']));
  });

  test('plain HTTP goes through the proxy for plain HTTP, and what NO_PROXY names goes to neither', async () => {
    const port = await listen(createHttpServer(open));
    const proxy = await startProxy(port);
    const direct = `localhost:${port}`;
    const client = makeClient({
      proxy: { http: proxy.url(PASSWORD), https: proxy.url(PASSWORD), no: '.other.test, named.test' },
      insecureHosts: ['registry.test', direct],
    });
    await client.fetchManifest(image);
    expect(proxy.asked).toEqual(['GET http://registry.test/v2/team/app/manifests/1']);
    await client.fetchManifest(parseImageReference(`${direct}/team/app:1`));
    for (const host of ['a.other.test', 'named.test'])
      await expect(client.fetchManifest(parseImageReference(`${host}/team/app:1`))).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
    expect(proxy.asked).toHaveLength(1);
  });

  test.each<[string, { password: string; answer?: 'silence' | 403 }, string, RegExp]>([
    ['a wrong password', { password: 'wr0ng-secret' }, 'FLOTILLA_REGISTRY_UNAUTHORIZED', /proxy answered 407/],
    ['a proxy that forbids the host', { password: 'wr0ng-secret', answer: 403 }, 'FLOTILLA_REGISTRY_UNAUTHORIZED', /proxy answered 403/],
    ['a proxy that opens no tunnel', { password: 'wr0ng-secret', answer: 'silence' }, 'FLOTILLA_REGISTRY_UNREACHABLE', /registry\.test/],
  ])('%s is said without the password', async (_, { password, answer }, code, message) => {
    const proxy = await startProxy(await listen(createServer(tls, open)), answer);
    const error: unknown = await makeClient({ ca: tls.cert, proxy: { https: proxy.url(password) } })
      .fetchManifest(image)
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(String(error) + JSON.stringify(error) + String((error as Error).cause)).not.toContain(password);
  });
});

describe('trust', () => {
  const fetchFrom = (host: string, options: RegistryClientOptions, scheme: Scheme) => {
    const rules = [{ prefix: 'registry.test', mirrors: [], location: host, scheme }];
    return makeClient({ rules, ...options }).fetchManifest(image);
  };
  test('an authority of one server is trusted for that server alone', async () => {
    const trusted = `localhost:${await listen(createServer(tls, open))}`;
    const other = `localhost:${await listen(createServer(tls, open))}`;
    const hostTls = new Map([[trusted, { ca: tls.cert }]]);
    await fetchFrom(trusted, { hostTls }, 'https');
    await expect(fetchFrom(other, { hostTls }, 'https')).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_UNTRUSTED' });
  });

  test('the authority of a registry counts for its token server and its storage too, as in Go, and our certificate for neither', async () => {
    const blob = Buffer.from('the bytes of a layer');
    const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
    const shown: string[] = [];
    const asking = { ...tls, requestCert: true, rejectUnauthorized: false };
    const serve = async (name: string, listener: RequestListener): Promise<string> => {
      const server = createServer(asking, (request, response) => {
        if ((request.socket as TLSSocket).getPeerX509Certificate()) shown.push(name);
        listener(request, response);
      });
      return `localhost:${await listen(server)}`;
    };
    const storage = await serve('storage', (_, response) => void response.end(blob));
    const tokens = await serve('tokens', (_, response) => void response.end('{"token":"t"}'));
    const registry = await serve('registry', ({ headers }, response) => {
      if (headers.authorization === 'Bearer t') return void response.writeHead(307, { location: `https://${storage}/signed` }).end();
      response.writeHead(401, { 'www-authenticate': `Bearer realm="https://${tokens}/token",service="s"` }).end();
    });
    const client = makeClient({ hostTls: new Map([[registry, { ca: tls.cert, cert: tls.cert, key: tls.key }]]) });
    const descriptor = { mediaType: MediaType.ociLayerGzip, digest, size: blob.length };
    expect(await client.readBlob(parseImageReference(`${registry}/a:1`), descriptor, { maxBytes: 100 })).toEqual(blob);
    expect([...new Set(shown)]).toEqual(['registry']);
  });

  test('an insecure server may have any certificate or none', async () => {
    const secure = `localhost:${await listen(createServer(tls, open))}`;
    const plain = `localhost:${await listen(createHttpServer(open))}`;
    for (const host of [secure, plain]) expect((await fetchFrom(host, {}, 'either')).bytes.toString()).toBe(MANIFEST);
    await expect(fetchFrom(secure, {}, 'https')).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_UNTRUSTED' });
    await expect(fetchFrom(plain, {}, 'https')).rejects.toMatchObject({ code: expect.stringMatching(/UNREACHABLE|UNTRUSTED/) });
  });

  test('an insecure server that speaks TLS is not taken for one that does not, because one connection was cut', async () => {
    const port = await listen(createServer(tls, open));
    let cuts = 1;
    const front = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      if (cuts-- > 0) return void socket.destroy();
      socket.once('data', (first) => {
        // A TLS record of a handshake begins so.
        if (first[0] !== 0x16) return void socket.end('HTTP/1.0 400 Bad Request\r\n\r\n');
        const server = connect(port, '127.0.0.1', () => server.write(first));
        server.on('error', () => socket.destroy());
        socket.pipe(server).pipe(socket);
      });
    });
    const host = `localhost:${await listen(front)}`;
    expect((await fetchFrom(host, { retry: { attempts: 2, baseMs: 1 } }, 'either')).bytes.toString()).toBe(MANIFEST);
  });

  test('the files that a host cannot use are told with its failures, and with no other', async () => {
    const host = `localhost:${await listen(createServer(tls, open))}`;
    const problems = ['/etc/docker/certs.d/x/ca.crt: it has no readable certificate'];
    const options = (of: string) => ({ hostTls: new Map([[of, { problems }]]) });
    await expect(fetchFrom(host, options(host), 'https')).rejects.toMatchObject({
      code: 'FLOTILLA_REGISTRY_UNTRUSTED',
      message: expect.stringContaining('left out: /etc/docker/certs.d/x/ca.crt: it has no readable certificate'),
    });
    await expect(fetchFrom(host, options('other.test'), 'https')).rejects.toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('left out') }),
    );
    expect((await fetchFrom(host, { ...options(host), ca: tls.cert }, 'https')).bytes.toString()).toBe(MANIFEST);
  });

  test('redirects are followed by the rule of the house', async () => {
    const outcomes = await playRedirects(async (url, { ca, authorization }) => {
      const transport = new Transport({ ca, timeouts: defaultTimeouts, userAgent: 'test' });
      try {
        const { body } = await transport.send({ method: 'GET', url, headers: { authorization }, image: 'i' });
        return String(await readBounded(body, 1_000));
      } finally {
        await transport.close();
      }
    });
    expect(outcomes).toEqual(redirectsByRule('+'));
  });

  test.each(['registry', 'host'])('the CA of the %s is trusted as Go trusts it', async (of) => {
    const outcomes = await playChains(async (url, ca) => {
      const trust = of === 'host' ? { hostTls: new Map([[url.host, { ca }]]) } : { ca };
      const transport = new Transport({ ...trust, timeouts: defaultTimeouts, userAgent: 'test' });
      try {
        const { body } = await transport.send({ method: 'GET', url, image: 'i' });
        return String(await readBounded(body, 1_000));
      } finally {
        await transport.close();
      }
    });
    expect(outcomes).toEqual(trustByRule);
  });

  test('HTTPS is not given up for a redirect, with or without credentials', async () => {
    let reached = 0;
    const plain = await listen(createHttpServer((_, response) => void response.end(String(reached++))));
    const secure = createServer(tls, (_, response) => void response.writeHead(307, { location: `http://127.0.0.1:${plain}/x` }).end());
    const host = `localhost:${await listen(secure)}`;
    const credentials = { auths: { [host]: { username: 'u', password: 'p' } } };
    for (const options of [{ ca: tls.cert }, { ca: tls.cert, credentials }])
      await expect(fetchFrom(host, options, 'https')).rejects.toThrow(/redirected to http:\/\/127.0.0.1:\d+, which is not https/);
    expect(reached).toBe(0);
  });

  describe('storage over plain HTTP behind a registry over HTTPS', () => {
    const blob = Buffer.from('the bytes of a layer');
    const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
    const descriptor = { mediaType: MediaType.ociLayerGzip, digest, size: blob.length };
    let asked: (string | undefined)[];
    let [storage, registry] = ['', ''];
    beforeEach(async () => {
      asked = [];
      const plain = createHttpServer((request, response) => {
        asked.push(request.headers.authorization);
        response.end(request.url?.includes('manifests') ? MANIFEST : blob);
      });
      storage = `127.0.0.1:${await listen(plain)}`;
      const secure = createServer(tls, ({ url, headers }, response) => {
        if (headers.authorization === undefined) return void response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
        response.writeHead(307, { location: `http://${storage}${url}` }).end();
      });
      registry = `localhost:${await listen(secure)}`;
    });
    const open = (options: RegistryClientOptions) =>
      makeClient({ ca: tls.cert, credentials: { auths: { [registry]: { username: 'u', password: 'p' } } }, ...options });
    const readBlob = (options: RegistryClientOptions) =>
      open(options).readBlob(parseImageReference(`${registry}/a:1`), descriptor, { maxBytes: 100 });

    test.each<[string, () => RegistryClientOptions]>([
      ['an option', () => ({ insecureHosts: [storage] })],
      ['a rule', () => ({ rules: [{ prefix: `${storage}/bucket`, scheme: 'http', mirrors: [] }] })],
      ['the location of a rule', () => ({ rules: [{ prefix: 'x.test', location: storage, scheme: 'either', mirrors: [] }] })],
      ['a mirror', () => ({ rules: [{ prefix: 'x.test', mirrors: [{ location: storage, scheme: 'http' }] }] })],
    ])('is read for blobs where %s names it insecure, without credentials', async (_, options) => {
      expect(await readBlob(options())).toEqual(blob);
      expect(asked).toEqual([undefined]);
    });

    test('is read for a manifest by its digest, which proves it, and never for one by its tag', async () => {
      const client = open({ insecureHosts: [storage] });
      const manifest = `sha256:${createHash('sha256').update(MANIFEST).digest('hex')}`;
      expect((await client.fetchManifest(parseImageReference(`${registry}/a@${manifest}`))).digest).toBe(manifest);
      await expect(client.fetchManifest(parseImageReference(`${registry}/a:1`))).rejects.toThrow(/which is not https/);
      expect(asked).toHaveLength(1);
    });

    test.each<[string, () => RegistryClientOptions]>([
      ['nothing', () => ({})],
      ['another option', () => ({ insecureHosts: ['127.0.0.1:1'] })],
      ['a rule over HTTPS', () => ({ rules: [{ prefix: storage, mirrors: [] }] })],
    ])('is not asked where %s names it, and the error says how to, and what it costs', async (_, options) => {
      await expect(readBlob(options())).rejects.toThrow(
        `redirected to http://${storage}, which is not https: name a server that stays on https; or name ${storage} as insecure (registries.conf, REGISTRY_CONFIG, --insecure-registry): its blobs are then read over plain HTTP, where anybody on the way sees them`,
      );
      expect(asked).toEqual([]);
    });
  });

  test('an image that is blocked everywhere says so', async () => {
    const rules = [{ prefix: 'registry.test', mirrors: [], blocked: true }];
    await expect(makeClient({ rules }).fetchManifest(image)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BLOCKED' });
  });
});

const unreached = (code: string) => Object.assign(new Error(`connect ${code} 192.0.2.1:443`), { code });

test.each([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'].map((code) => ({
    name: code,
    cause: unreached(code),
  })),
  { name: 'each of its addresses', cause: new AggregateError([unreached('ETIMEDOUT'), unreached('ENETUNREACH')], 'no address answers') },
])('a host that is not reached ($name) is reported with what may lead there', ({ cause }) => {
  const error = toNetworkError(cause, { image: 'registry.test/a:1', host: 'registry.test' });
  expect(error.message).toBe(
    `registry.test/a:1: registry.test: ${cause.message}; name a mirror (REGISTRY_CONFIG, --registries-conf) or set HTTPS_PROXY: hosts.toml is not read`,
  );
});

test('a connection that breaks later is reported without that advice', () => {
  const error = toNetworkError(unreached('ECONNRESET'), { image: 'registry.test/a:1', host: 'registry.test' });
  expect(error.message).not.toContain('hosts.toml');
});

test.each(['ENOTFOUND', 'EAI_AGAIN'])('a name that is not found (%s) is told with what may lead there', (code) => {
  const cause = Object.assign(new Error(`getaddrinfo ${code} registry.test`), { code });
  const error = toNetworkError(cause, { image: 'registry.test/a:1', host: 'registry.test' });
  expect(error.code).toBe('FLOTILLA_REGISTRY_UNREACHABLE');
  expect(error.message).toBe(
    `registry.test/a:1: registry.test: getaddrinfo ${code} registry.test; name a mirror (REGISTRY_CONFIG, --registries-conf) or set HTTPS_PROXY: hosts.toml is not read`,
  );
  // Said once, with all causes.
  expect(errorMessage(error).match(/ENOTFOUND|EAI_AGAIN/g)).toHaveLength(1);
});
