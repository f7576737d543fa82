import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { playRedirects, redirectsByRule } from '../testing/redirect-case.ts';
import { fetchAnswer } from './answer.ts';
import { HttpErrorCode } from './errors.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/text`);
}

const closing = (agent: Agent) => Object.assign(agent, { [Symbol.asyncDispose]: () => agent.destroy() });

function get(url: URL, options: Partial<Parameters<typeof fetchAnswer>[0]> = {}) {
  const agent = new Agent();
  open.push(() => agent.destroy());
  return fetchAnswer({ url, dispatcherFor: () => agent, ...options });
}

test('fetches a text with its headers', async () => {
  const url = await serve((request, response) => response.end(`${request.headers['user-agent']} ${request.url}`));
  expect(await get(url, { headers: { 'user-agent': 'Boat/1' } })).toMatchObject({ status: 200, text: 'Boat/1 /text' });
});

test('any other answer gives only its status', async () => {
  const url = await serve((_, response) => response.writeHead(503).end('x'.repeat(200_000)));
  expect(await get(url)).toMatchObject({ status: 503, text: '' });
});

describe('a bad server', () => {
  const listeners: Record<string, RequestListener> = {
    'never answers': () => undefined,
    'never ends its answer': (_, response) => void response.write('{'),
    'never ends a refusal': (_, response) => void response.writeHead(500).write('x'),
  };
  test.each(Object.entries(listeners))('%s', async (name, listener) => {
    const asked = get(await serve(listener), { timeoutMs: 200 });
    if (name.includes('refusal')) expect(await asked).toMatchObject({ status: 500, text: '' });
    else await expect(asked).rejects.toMatchObject({ code: HttpErrorCode.timeout, message: 'no complete answer within 200 ms' });
  });

  test('hangs up in the middle', async () => {
    const url = await serve((_, response) => response.writeHead(200, { 'content-length': '10' }).write('x', () => response.destroy()));
    await expect(get(url)).rejects.toMatchObject({ code: HttpErrorCode.unreachable });
  });

  test('is not there', async () => {
    const url = await serve(() => undefined);
    await open.pop()?.();
    await expect(get(url)).rejects.toMatchObject({ code: HttpErrorCode.unreachable, message: expect.stringMatching(/ECONNREFUSED/) });
  });

  test('sends more than is read', async () => {
    const url = await serve((_, response) => response.end('x'.repeat(101)));
    expect(await get(url, { maxBytes: 101 })).toMatchObject({ status: 200 });
    await expect(get(url, { maxBytes: 100 })).rejects.toMatchObject({ code: HttpErrorCode.tooLarge, message: 'more than 100 bytes' });
  });
});

describe('redirects', () => {
  test('are followed by the rule of the house', async () => {
    const fetched = playRedirects(async (url, { ca, authorization }) => {
      await using agent = closing(new Agent({ connect: { ca } }));
      return (await fetchAnswer({ url, headers: { authorization }, dispatcherFor: () => agent })).text;
    });
    expect(await fetched).toEqual(redirectsByRule('+'));
  });

  test('are followed a few times', async () => {
    const target = await serve((_, response) => response.end('there'));
    const once = await serve((_, response) => response.writeHead(307, { location: target.href }).end());
    expect(await get(once)).toMatchObject({ status: 200, text: 'there' });
    const loop = await serve((_, response) => response.writeHead(302, { location: '/again' }).end());
    await expect(get(loop)).rejects.toMatchObject({ code: HttpErrorCode.redirected, message: 'more than 5 redirects' });
  });

  test('take credentials to nobody else', async () => {
    const seen: (string | undefined)[] = [];
    const target = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const from = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(302, { location: target.href }).end();
    });
    await get(from, { headers: { authorization: 'Bearer secret' } });
    expect(seen).toEqual(['Bearer secret', undefined]);
  });

  test('to another protocol are refused, without what stands in the URL', async () => {
    const url = await serve((_, response) => response.writeHead(302, { location: 'ftp://user:secret@elsewhere/x' }).end());
    await expect(get(url)).rejects.toMatchObject({
      code: HttpErrorCode.redirected,
      message: 'redirected to ftp://elsewhere, which is not https: name a server that stays on https',
    });
  });
});

test("the caller's own stop is no failure of the server", async () => {
  const stop = new AbortController();
  const url = await serve(() => stop.abort(new Error('stopped by its caller')));
  await expect(get(url, { signal: stop.signal })).rejects.toThrow('stopped by its caller');
});
