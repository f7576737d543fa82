import { systemClock } from '@flotilla/pace';
import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { answer, cut, half, type Reply, say, silence, startHostileService } from '../testing/hostile-service.ts';
import { playChains, playRedirects, redirectsByRule, trustByRule } from '../testing/index.ts';
import { ServiceError, ServiceErrorCode } from './errors.ts';
import { createHttp, DEFAULT_RETRY, type HttpOptions, retryDelayMs } from './service.ts';

const QUICK = { attempts: 3, baseMs: 1, maxMs: 5 };
const clientOf = (options: Partial<HttpOptions> = {}) => createHttp({ name: 'Service', clock: systemClock, retry: QUICK, ...options });
const Answer = z.object({ value: z.string() });
const good = answer({ value: 'x' });

test.each([
  { name: 'a 503, whatever is asked', replies: [503, good], method: 'POST', asked: 2 },
  { name: 'a 429, whatever is asked', replies: [429, 429, good], method: 'PATCH', asked: 3 },
  { name: 'a 500 of a read', replies: [500, good], method: 'GET', asked: 2 },
  { name: 'a lost connection of a read', replies: [cut, good], method: 'GET', asked: 2 },
  { name: 'half an answer of a read', replies: [half('{"value": "a long one"}'), good], method: 'GET', asked: 2 },
] as const)('sends again after $name', async ({ replies, method, asked }) => {
  await using service = await startHostileService(...replies);
  await using http = clientOf();
  expect(await http.json(Answer, { method, url: service.url, body: method === 'GET' ? undefined : {} })).toEqual({ value: 'x' });
  expect(service.requests).toHaveLength(asked);
});

test.each([
  { name: 'a 500 of a write', reply: 500, method: 'POST', code: ServiceErrorCode.unavailable },
  { name: 'a lost connection of a write', reply: cut, method: 'POST', code: ServiceErrorCode.unreachable },
  { name: 'a 400', reply: 400, method: 'GET', code: ServiceErrorCode.refused },
  { name: 'a 401', reply: 401, method: 'GET', code: ServiceErrorCode.unauthorized },
  { name: 'a 403', reply: 403, method: 'GET', code: ServiceErrorCode.unauthorized },
  { name: 'a redirect', reply: say('', 302, { location: '/there' }), method: 'GET', code: ServiceErrorCode.refused },
  { name: 'silence', reply: silence, method: 'GET', code: ServiceErrorCode.timeout },
  { name: 'an answer without end', reply: say('x'.repeat(2_000)), method: 'GET', code: ServiceErrorCode.tooLarge },
  { name: 'what is no JSON', reply: say('<html>'), method: 'GET', code: ServiceErrorCode.badAnswer },
  { name: 'JSON of another form', reply: answer({ value: 7 }), method: 'GET', code: ServiceErrorCode.badAnswer },
] as { name: string; reply: Reply; method: 'GET' | 'POST'; code: string }[])(
  'gives up at once at $name',
  async ({ reply, method, code }) => {
    await using service = await startHostileService(reply);
    await using http = clientOf({ timeoutMs: reply === silence ? 300 : 15_000, maxBytes: 1_000 });
    await expect(http.json(Answer, { method, url: new URL('/path?secret=query', service.url) })).rejects.toMatchObject({
      code,
      message: expect.not.stringContaining('secret=query'),
    });
    expect(service.requests).toHaveLength(1);
  },
);

test('gives up after its retries, with the last words of the service', async () => {
  await using service = await startHostileService(say('busy', 503));
  await using http = clientOf();
  await expect(http.send({ method: 'GET', url: service.url })).rejects.toMatchObject({
    code: ServiceErrorCode.unavailable,
    status: 503,
    message: 'Service: GET / answered 503: busy',
  });
  expect(service.requests).toHaveLength(3);
});

test('a refused connection is tried again, also for a write: nothing was sent', async () => {
  const service = await startHostileService(200);
  const { url } = service;
  await service[Symbol.asyncDispose]();
  let waits = 0;
  await using http = clientOf({
    random: () => {
      waits++;
      return 0.5;
    },
  });
  await expect(http.send({ method: 'POST', url, body: {} })).rejects.toMatchObject({ code: ServiceErrorCode.unreachable });
  expect(waits).toBe(QUICK.attempts - 1);
});

test('a refused token is renewed once, and is in no message', async () => {
  await using service = await startHostileService((request, response) => {
    const isGood = request.headers.authorization === 'Bearer token-2';
    response.writeHead(isGood ? 200 : 401).end(`you sent ${request.headers.authorization}`);
  });
  const asked: boolean[] = [];
  const authorize = async (refused: boolean) => {
    asked.push(refused);
    return refused ? 'Bearer token-2' : 'Bearer token-1';
  };
  await using http = clientOf({ authorize });
  await expect(http.send({ method: 'GET', url: service.url })).resolves.toMatchObject({ status: 200 });
  expect(asked).toEqual([false, true]);
  await using stale = clientOf({ authorize: async () => 'Bearer token-1' });
  const error = await stale.send({ method: 'GET', url: service.url }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ message: 'Service: GET / answered 401: you sent [redacted]', words: 'you sent [redacted]' });
});

test('follows redirects by the rule of the house', async () => {
  const outcomes = await playRedirects(async (url, { ca, authorization }) => {
    await using http = clientOf({ redirects: 5, ca: async () => ca, authorize: async () => authorization });
    return (await http.send({ method: 'GET', url })).text;
  });
  expect(outcomes).toEqual(redirectsByRule('+'));
});

test('trusts a CA as Go does', async () => {
  const outcomes = await playChains(async (url, ca) => {
    await using http = clientOf({ ca: async () => ca });
    return (await http.send({ method: 'GET', url })).text;
  });
  expect(outcomes).toEqual(trustByRule);
});

test('follows redirects where it may, and keeps the credential to its server', async () => {
  await using other = await startHostileService(good);
  await using service = await startHostileService(say('', 307, { location: `${other.url.href}there` }));
  await using http = clientOf({ redirects: 1, authorize: async () => 'Bearer mine' });
  await expect(http.json(Answer, { method: 'GET', url: service.url })).resolves.toEqual({ value: 'x' });
  expect(service.requests[0]?.authorization).toBe('Bearer mine');
  expect(other.requests).toEqual([{ line: 'GET /there', authorization: undefined, body: '' }]);
});

test('the caller ends a call, also while it waits to send again', async () => {
  await using service = await startHostileService(503);
  const clock = new ManualClock();
  await using http = clientOf({ clock, retry: DEFAULT_RETRY });
  const stop = new AbortController();
  const call = http.send({ method: 'GET', url: service.url, signal: stop.signal });
  await expect.poll(() => clock.nextAt && clock.nextAt - clock.now()).toBeLessThan(2_700);
  stop.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
});

test('asks a proxy for what is beyond it', async () => {
  await using proxy = await startHostileService(good);
  await using http = clientOf({ proxy: { http: proxy.url.href, no: 'near.example' } });
  await expect(http.json(Answer, { method: 'GET', url: new URL('http://far.example/x') })).resolves.toEqual({ value: 'x' });
  expect(proxy.requests.map(({ line }) => line)).toEqual(['GET http://far.example/x']);
});

const refusal = (status: number, retryAfterMs?: number) => new ServiceError(ServiceErrorCode.throttled, 'x', { status, retryAfterMs });

test.each([
  { failures: 1, random: 0.5, want: 2_000 },
  { failures: 1, random: 0, want: 1_400 },
  { failures: 1, random: 1, want: 2_600 },
  { failures: 3, random: 0.5, want: 8_000 },
  { failures: 4, random: 0.5, want: 16_000 },
  { failures: 5, random: 0.5, want: undefined },
])('waits $want ms after failure $failures at chance $random', ({ failures, random, want }) => {
  expect(retryDelayMs(DEFAULT_RETRY, { error: refusal(429), isSafe: true, failures, random: () => random })).toBe(want);
});

test.each([
  { asks: 10_000, want: 10_000 },
  { asks: 1, want: 2_000 },
  { asks: 600_000, want: 60_000 },
])('waits $want ms where Retry-After asks for $asks', ({ asks, want }) => {
  expect(retryDelayMs(DEFAULT_RETRY, { error: refusal(429, asks), isSafe: true, failures: 1, random: () => 0.5 })).toBe(want);
});
