import { systemClock } from '@flotilla/pace';
import { expect, test } from 'vitest';
import { answer, type Reply, startHostileService } from '../testing/hostile-service.ts';
import { createPrometheus } from './monitoring.ts';

const open = (url: URL) => createPrometheus({ clock: systemClock, url: async () => url, retry: { attempts: 1, baseMs: 1, maxMs: 1 } });
const vector = (...result: unknown[]) => answer({ status: 'success', data: { resultType: 'vector', result } });

test('asks with the query in the URL and reads its series', async () => {
  await using service = await startHostileService(vector({ metric: { alertname: 'A' }, value: [1, '2.5'] }));
  await using prometheus = open(service.url);
  expect(await prometheus.query('up{a="b"}')).toEqual([{ labels: { alertname: 'A' }, value: 2.5 }]);
  expect(service.requests[0]?.line).toBe('GET /api/v1/query?query=up%7Ba%3D%22b%22%7D');
});

test('an empty vector is an answer', async () => {
  await using service = await startHostileService(vector());
  await using prometheus = open(service.url);
  expect(await prometheus.query('up')).toEqual([]);
});

test.each([
  {
    name: 'an error document with status 200',
    reply: answer({ status: 'error', errorType: 'internal', error: 'disk is full' }),
    words: 'internal: disk is full',
  },
  {
    name: 'an error document with status 500',
    reply: answer({ status: 'error', errorType: 'internal', error: 'x' }, 500),
    words: 'answered 500',
  },
  { name: 'success without data', reply: answer({ status: 'success' }), words: 'not a query result' },
  { name: 'a scalar', reply: answer({ status: 'success', data: { resultType: 'scalar', result: [1, '1'] } }), words: 'not a query result' },
  {
    name: 'more series than are read',
    reply: vector(...Array.from({ length: 5_001 }, () => ({ metric: {}, value: [1, '1'] }))),
    words: 'not a query result',
  },
  {
    name: 'null for the series',
    reply: answer({ status: 'success', data: { resultType: 'vector', result: null } }),
    words: 'not a query result',
  },
] as { name: string; reply: Reply; words: string }[])('$name is no empty result', async ({ reply, words }) => {
  await using service = await startHostileService(reply);
  await using prometheus = open(service.url);
  await expect(prometheus.query('up')).rejects.toMatchObject({
    code: expect.stringContaining('FLOTILLA_SERVICE_'),
    message: expect.stringContaining(words),
  });
});
