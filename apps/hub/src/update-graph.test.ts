import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { playRedirects, redirectsByRule } from '@flotilla/http/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { graphAccess } from './graph-access.ts';
import { createUpdateGraph, UpdateGraphCode, type UpdateGraphOptions } from './update-graph.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graph`;
}

function graph(options: UpdateGraphOptions = {}) {
  const answers = new Map<string, () => void>();
  const access = graphAccess({ allow: ['127.0.0.1', 'graph.invalid'] });
  const created = createUpdateGraph({ access, ...options, onAnswer: (waiter) => answers.get(waiter)?.() });
  open.push(() => created.close());
  let waiters = 0;
  /** Looks a release up; waits for a pending answer and looks it up again. */
  return async (upstream: string, version = '4.20.1', channel = 'stable-4.20'): Promise<string> => {
    const waiter = `ns/upgrade-${waiters++}`;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    answers.set(waiter, resolve);
    const lookUp = () => created.lookUp({ upstream, channel, version }, waiter);
    let found = lookUp();
    if (found.kind === 'pending') {
      await answered;
      found = lookUp();
    }
    if (found.kind !== 'known') throw Object.assign(new Error(found.kind), found);
    return found.image;
  };
}

const nodes = [
  { version: '4.20.0', payload: 'q/r@sha256:0' },
  { version: '4.20.1', payload: '' },
  { version: '4.20.1', payload: 'q/r@sha256:1', metadata: { x: 'y' } },
  { version: '4.20.1', payload: 'q/r@sha256:2' },
];

/** Starts a server with changeable answers that counts and records its requests. */
async function scripted() {
  const script = { status: 200, body: JSON.stringify({ nodes }), asked: [] as string[] };
  const url = await serve((request, response) => {
    script.asked.push(`${request.headers.accept} ${request.url}`);
    response.writeHead(script.status, { 'content-type': 'application/json' }).end(script.body);
  });
  return { script, url };
}

test('finds the first node of the version that has an image, with the channel escaped', async () => {
  const { script, url } = await scripted();
  expect(await graph()(url, '4.20.1', 'a b&c=d')).toBe('q/r@sha256:1');
  expect(script.asked).toEqual(['application/json /graph?channel=a%20b%26c%3Dd']);
});

test('keeps a query that the upstream has already', async () => {
  const { script, url } = await scripted();
  await graph()(`${url}?arch=amd64`);
  expect(script.asked).toEqual(['application/json /graph?arch=amd64&channel=stable-4.20']);
});

test('asks once for many at the same time, and not again until the answer has aged', async () => {
  const { script, url } = await scripted();
  let time = 0;
  const resolve = graph({ cacheMs: 1_000, now: () => time });
  await Promise.all(Array.from({ length: 20 }, () => resolve(url)));
  time = 999;
  await resolve(url, '4.20.0');
  expect(script.asked).toHaveLength(1);
  time = 1_000;
  await resolve(url);
  expect(script.asked).toHaveLength(2);
});

test('uses the last good answer while the server fails, and no longer than allowed', async () => {
  const { script, url } = await scripted();
  let time = 0;
  const resolve = graph({ cacheMs: 1_000, staleMs: 60_000, failureMs: 10, now: () => time });
  await resolve(url);
  script.status = 503;
  time = 59_999;
  expect(await resolve(url)).toBe('q/r@sha256:1');
  time = 60_010;
  await expect(resolve(url)).rejects.toMatchObject({
    code: UpdateGraphCode.refused,
    message: `error response from update graph url ${url}?channel=stable-4.20: 503`,
  });
  script.status = 200;
  time = 60_020;
  expect(await resolve(url)).toBe('q/r@sha256:1');
});

test('remembers a failure for a moment, so that nobody else waits for it', async () => {
  const { script, url } = await scripted();
  script.status = 500;
  let time = 0;
  const resolve = graph({ failureMs: 1_000, now: () => time });
  await expect(resolve(url)).rejects.toMatchObject({ code: UpdateGraphCode.refused });
  await expect(resolve(url)).rejects.toMatchObject({ code: UpdateGraphCode.refused });
  expect(script.asked).toHaveLength(1);
  time = 1_000;
  await expect(resolve(url)).rejects.toMatchObject({ code: UpdateGraphCode.refused });
  expect(script.asked).toHaveLength(2);
});

test.each([
  {
    name: 'a version that is not there',
    body: JSON.stringify({ nodes }),
    code: UpdateGraphCode.noVersion,
    message: /^unable to find version 4.20.9 on update graph on url http:/,
  },
  { name: 'a graph without nodes', body: '{"nodes":null}', code: UpdateGraphCode.noVersion, message: /^unable to find version/ },
  {
    name: 'a body that is no JSON',
    body: '<html>',
    code: UpdateGraphCode.malformed,
    message: /^unable to unmarshal body: Unexpected token/,
  },
  {
    name: 'a version of the wrong type',
    body: '{"nodes":[{"version":4}]}',
    code: UpdateGraphCode.malformed,
    message: /^unable to unmarshal body: nodes.0.version: /,
  },
  { name: 'a list', body: '[]', code: UpdateGraphCode.malformed, message: /^unable to unmarshal body: the document: / },
  {
    name: 'a body that is too large',
    body: ' '.repeat(5_000),
    code: UpdateGraphCode.malformed,
    message: /^unable to unmarshal body: more than 4096 bytes$/,
  },
])('refuses $name', async ({ body, code, message }) => {
  const { script, url } = await scripted();
  script.body = body;
  const asked = graph({ maxBytes: 4_096 })(url, '4.20.9');
  await expect(asked).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test('follows a redirect, but not for ever', async () => {
  const { url } = await scripted();
  const once = await serve((_, response) => response.writeHead(302, { location: `${url}?channel=x` }).end());
  expect(await graph()(once)).toBe('q/r@sha256:1');
  const loop = await serve((request, response) => response.writeHead(302, { location: request.url }).end());
  await expect(graph()(loop)).rejects.toMatchObject({
    message: expect.stringMatching(/^(error response from|unable to request) update graph/),
  });
});

test.each([
  { name: 'never answers', listener: () => undefined },
  { name: 'never ends its answer', listener: (_: unknown, response: { write(text: string): void }) => response.write('{') },
])('gives up on a server that $name', async ({ listener }) => {
  const url = await serve(listener as RequestListener);
  await expect(graph({ timeoutMs: 200 })(url)).rejects.toMatchObject({
    code: UpdateGraphCode.unreachable,
    message: `unable to request update graph on url ${url}?channel=stable-4.20: no complete answer within 200 ms`,
  });
});

test('says why a server cannot be reached, without the password in the URL', async () => {
  const url = await serve(() => undefined);
  await open.pop()?.();
  const asked = graph()(url.replace('http://', 'http://user:secret@'));
  await expect(asked).rejects.toMatchObject({ code: UpdateGraphCode.unreachable, message: expect.stringMatching(/ECONNREFUSED/) });
  await expect(asked).rejects.toMatchObject({ message: expect.not.stringContaining('secret') });
});

test.each(['', 'graph.example.com', 'file:///etc/passwd', 'http://'])('refuses upstream %j', async (upstream) => {
  await expect(graph()(upstream)).rejects.toMatchObject({
    code: UpdateGraphCode.unreachable,
    message: expect.stringContaining('is not an http or https URL'),
  });
});

test('goes through the proxy it is given, except for hosts that need none', async () => {
  const proxied: string[] = [];
  const proxy = await serve((request, response) => {
    proxied.push(request.url ?? '');
    response.end(JSON.stringify({ nodes }));
  });
  const { script, url } = await scripted();
  const http = new URL(proxy).origin;
  expect(await graph({ proxy: { http } })('http://graph.invalid/graph')).toBe('q/r@sha256:1');
  expect(proxied).toEqual(['http://graph.invalid/graph?channel=stable-4.20']);
  await graph({ proxy: { http, no: '127.0.0.1' } })(url);
  expect(script.asked).toHaveLength(1);
  expect(proxied).toHaveLength(1);
});

test('follows redirects by the rule of the house', async () => {
  const outcomes = await playRedirects((url) => graph({ insecure: true, access: graphAccess({ allow: ['localhost'] }) })(url.href));
  expect(outcomes).toEqual(redirectsByRule(''));
});

describe('a server that a policy names', () => {
  /** Allows loopback without a name for it. */
  const asReference = graphAccess({ talmStrict: true });

  test.each([
    { name: 'what is no JSON', body: 'root:$6$secret:19000:0:99999' },
    { name: 'JSON that is no graph', body: '{"nodes":[{"version":{"password":"secret"}}]}' },
    { name: 'a graph that hangs together badly', body: '{"nodes":[],"edges":[[987654,987655]]}' },
    { name: 'an error', body: 'secret', status: 500 },
    { name: 'a redirect', body: '', status: 302, location: 'ftp://secret.internal/' },
  ])('is not quoted: $name', async ({ body, status = 200, location }) => {
    const url = await serve((_, response) => response.writeHead(status, location ? { location } : {}).end(body));
    const failures: string[] = [];
    const asked = graph({ access: asReference, onFailure: (failure) => failures.push(failure.message, String(failure.cause)) })(url);
    await expect(asked).rejects.toMatchObject({ message: expect.not.stringMatching(/secret|root|98765/) });
    if (status !== 500) expect(failures.join()).toMatch(/secret|root|98765|nodes\.0/);
  });

  test('is not quoted: what its certificate says, and where its name leads', async () => {
    const url = await serve(() => undefined);
    await open.pop()?.();
    await expect(graph({ access: asReference })(url)).rejects.toMatchObject({
      code: UpdateGraphCode.unreachable,
      message: expect.stringMatching(/: connection failed \(ECONNREFUSED\)$/),
    });
  });

  test('is not connected to on this machine, by address, by name or by redirect', async () => {
    const { script, url } = await scripted();
    const { port } = new URL(url);
    const refused = { code: UpdateGraphCode.notAllowed, message: expect.stringContaining("the hub's own machine or link") };
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0'])
      await expect(graph({ access: graphAccess() })(`http://${host}:${port}/graph`)).rejects.toMatchObject(refused);
    const leading = await serve((_, response) => response.writeHead(302, { location: `http://localhost:${port}/graph` }).end());
    await expect(graph({ access: graphAccess({ allow: [new URL(leading).host] }) })(leading)).rejects.toMatchObject(refused);
    expect(script.asked).toEqual([]);
  });

  test('with tenancy is one of the list, redirects included', async () => {
    const { script, url } = await scripted();
    const leading = await serve((_, response) => response.writeHead(302, { location: url }).end());
    const tenant = graph({ access: graphAccess({ tenancy: true, allow: [new URL(leading).host] }) });
    await expect(tenant(url)).rejects.toMatchObject({ code: UpdateGraphCode.notAllowed });
    await expect(tenant(leading)).rejects.toMatchObject({ code: UpdateGraphCode.notAllowed });
    expect(script.asked).toEqual([]);
  });
});
