import { cut, type Reply, say, silence, startHostileService } from '@flotilla/http/testing';
import { systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createDependencyProbe } from './dependencies.ts';

const { signal } = new AbortController();
const probe = () => createDependencyProbe({ clock: systemClock, retry: { attempts: 3, baseMs: 1, maxMs: 2 } });

test.each([
  { name: '200', replies: [200] },
  { name: '204', replies: [204] },
  { name: 'a redirect to what answers', replies: [say('', 302, { location: '/elsewhere' }), 200] },
  { name: 'a page longer than anybody reads', replies: [say('x'.repeat(2 ** 21))] },
  { name: 'an error that passes', replies: [500, cut, 200] },
] as { name: string; replies: Reply[] }[])('$name is healthy', async ({ replies }) => {
  await using service = await startHostileService(...replies);
  await using dependencies = probe();
  await expect(dependencies.check({ urls: [service.url.href], timeout: 5 }, signal)).resolves.toBeUndefined();
});

test.each([
  { reply: 404, asked: 1, want: (url: string) => `client error for ${url}: 404` },
  { reply: 500, asked: 3, want: (url: string) => `server error for ${url}: 500` },
  { reply: cut, asked: 3, want: (url: string) => `client request error for ${url}: ` },
  { reply: silence, asked: 1, want: (url: string) => `client request error for ${url}: ` },
  {
    reply: say('', 302, { location: '/again' }),
    asked: 11,
    want: (url: string) => `client request error for ${url}: more than 10 redirects`,
  },
] as { reply: Reply; asked: number; want: (url: string) => string }[])(
  'is worded as the reference has it',
  async ({ reply, asked, want }) => {
    await using service = await startHostileService(reply);
    await using dependencies = probe();
    await expect(dependencies.check({ urls: [service.url.href], timeout: reply === silence ? 0.3 : 15 }, signal)).rejects.toThrow(
      want(service.url.href),
    );
    expect(service.requests).toHaveLength(asked);
  },
);

test('names everything that does not answer, and no password', async () => {
  await using good = await startHostileService(200);
  await using bad = await startHostileService(404);
  await using dependencies = probe();
  const hidden = `http://me:password@${bad.url.host}/x`;
  await expect(dependencies.check({ urls: [good.url.href, hidden, 'ftp://x'], timeout: 5 }, signal)).rejects.toThrow(
    `client error for http://${bad.url.host}/x: 404; client request error for ftp://x: not an http or https URL`,
  );
});

test('asks nothing where nothing is named', async () => {
  await using dependencies = probe();
  await expect(dependencies.check({ urls: [], timeout: 15 }, signal)).resolves.toBeUndefined();
});
