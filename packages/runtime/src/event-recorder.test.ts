import { KubeObject } from '@flotilla/api';
import type { EventToRecord } from '@flotilla/api/core';
import { ManualClock } from '@flotilla/pace/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answer, refuse, type ScriptedServer, type Step, startScriptedServer } from '../testing/scripted-server.ts';
import type { Client } from './client.ts';
import { createClient } from './create-client.ts';
import { createEventRecorder, type EventRecorderOptions } from './event-recorder.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';

const EVENTS = 'POST /apis/events.k8s.io/v1/namespaces/n/events';
let server: ScriptedServer;
let client: Client;
/** Bodies of the events the server took. */
const stored: KubeObject[] = [];
const take: Step = (request, response, body) => {
  const object = KubeObject.parse(JSON.parse(body));
  stored.push(object);
  answer(object, 201)(request, response, body);
};

beforeEach(async () => {
  server = await startScriptedServer();
  server.fallback = take;
  stored.length = 0;
  client = createClient({ kubeconfig: server.kubeconfig });
});
afterEach(async () => {
  await client.close();
  await server[Symbol.asyncDispose]();
});

function start(options: Partial<EventRecorderOptions> = {}) {
  const lines: { level: string; msg: string }[] = [];
  const logger = createLogger({ name: 't', level: 'debug', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const metrics = createMetrics({ process: false });
  const clock = new ManualClock();
  const recorder = createEventRecorder({ client, controller: 'C', instance: 'h', logger, metrics, clock, concurrency: 1, ...options });
  const counted = async (result: string) => {
    const { values } = await metrics.events.get();
    return values.find(({ labels }) => labels.result === result)?.value ?? 0;
  };
  return { recorder, lines, clock, counted };
}

const event = (note: string): EventToRecord => ({
  type: 'Normal',
  reason: 'R',
  action: 'A',
  note,
  regarding: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'c' },
});
const notes = () => stored.map(({ note }) => note);

/** Lets what the clock waits for happen until the promise settles. */
async function whileTimePasses(clock: ManualClock, promise: Promise<void>): Promise<void> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  while (!settled) await clock.advance(1_000);
}

test('events are stored in order, each with a later time', async () => {
  const { recorder, counted } = start();
  for (const note of ['a', 'b', 'c']) recorder.record(event(note));
  await recorder.flush();
  expect(server.requests).toEqual([EVENTS, EVENTS, EVENTS]);
  expect(notes()).toEqual(['a', 'b', 'c']);
  expect(stored.map(({ eventTime }) => eventTime)).toEqual([
    '2026-01-01T00:00:00.000000Z',
    '2026-01-01T00:00:00.000001Z',
    '2026-01-01T00:00:00.000002Z',
  ]);
  expect(new Set(stored.map(({ metadata }) => metadata.name)).size).toBe(3);
  expect(await counted('created')).toBe(3);
});

test('a few are stored at a time', async () => {
  let open = 0;
  let most = 0;
  const all = Promise.withResolvers<void>();
  server.fallback = (request, response, body) => {
    open += 1;
    most = Math.max(most, open);
    if (open === 4) all.resolve();
    void all.promise.then(() => {
      open -= 1;
      take(request, response, body);
    });
  };
  const { recorder } = start({ concurrency: 4 });
  for (let i = 0; i < 20; i++) recorder.record(event(`${i}`));
  await recorder.flush();
  expect(most).toBe(4);
  expect(stored).toHaveLength(20);
  expect(new Set(notes())).toEqual(new Set(Array.from({ length: 20 }, (_, i) => `${i}`)));
});

test('a server that fails twice gets the same event a third time', async () => {
  server.steps.push(refuse(500, 'InternalError'), refuse(503, 'ServiceUnavailable'));
  const { recorder, clock, lines, counted } = start();
  recorder.record(event('a'));
  await whileTimePasses(clock, recorder.flush());
  expect(server.requests).toHaveLength(3);
  expect(notes()).toEqual(['a']);
  expect([lines, await counted('failed')]).toEqual([[], 0]);
});

test('an event whose answer was lost is not stored twice', async () => {
  const names: string[] = [];
  const remember =
    (then: Step): Step =>
    (request, response, body) => {
      names.push(KubeObject.parse(JSON.parse(body)).metadata.name);
      then(request, response, body);
    };
  server.steps.push(
    remember((_request, response) => void response.destroy()),
    remember(refuse(409, 'AlreadyExists')),
  );
  const { recorder, clock, lines, counted } = start();
  recorder.record(event('a'));
  await whileTimePasses(clock, recorder.flush());
  expect(names).toEqual([names[0], names[0]]);
  expect([lines, await counted('created'), await counted('failed')]).toEqual([[], 1, 0]);
});

test('a third failure gives the event up, and the next one is stored', async () => {
  server.steps.push(refuse(500, 'InternalError'), refuse(500, 'InternalError'), refuse(500, 'InternalError'));
  const { recorder, clock, lines, counted } = start();
  recorder.record(event('a'));
  recorder.record(event('b'));
  await whileTimePasses(clock, recorder.flush());
  expect(notes()).toEqual(['b']);
  expect(lines).toMatchObject([{ level: 'warn', code: 'FLOTILLA_API_UNAVAILABLE', controller: 'C' }]);
  expect(await counted('failed')).toBe(1);
});

test('a missing right is logged once and costs one request an event', async () => {
  server.fallback = refuse(403, 'Forbidden');
  const { recorder, clock, lines, counted } = start();
  recorder.record(event('a'));
  await recorder.flush();
  await clock.advance(86_400_000);
  recorder.record(event('b'));
  recorder.record(event('c'));
  await recorder.flush();
  expect(server.requests).toHaveLength(3);
  expect(lines).toMatchObject([{ level: 'warn', code: 'FLOTILLA_API_FORBIDDEN' }]);
  expect(await counted('failed')).toBe(3);
});

test('any other refusal is logged again after ten minutes', async () => {
  server.fallback = refuse(422, 'Invalid');
  const { recorder, clock, lines } = start();
  for (const pauseMs of [0, 599_999, 1]) {
    await clock.advance(pauseMs);
    recorder.record(event('a'));
    await recorder.flush();
  }
  expect(lines).toMatchObject([{ code: 'FLOTILLA_API_INVALID' }, { code: 'FLOTILLA_API_INVALID' }]);
});

test('the oldest events go when more wait than may, and it is said how many', async () => {
  const gate = Promise.withResolvers<void>();
  server.steps.push((request, response, body) => void gate.promise.then(() => take(request, response, body)));
  const { recorder, lines, counted } = start({ capacity: 2 });
  for (const note of ['running', 'a', 'b', 'c', 'd']) recorder.record(event(note));
  gate.resolve();
  await recorder.flush();
  expect(notes()).toEqual(['running', 'c', 'd']);
  expect(lines).toMatchObject([{ level: 'warn', dropped: 2 }]);
  expect(await counted('dropped')).toBe(2);
});

test('close gives the server two seconds, then drops what is left, and takes no more', async () => {
  server.fallback = () => undefined;
  const { recorder, clock, counted } = start();
  recorder.record(event('a'));
  recorder.record(event('b'));
  const closed = recorder.close();
  recorder.record(event('late'));
  let settled = false;
  void closed.then(() => {
    settled = true;
  });
  await clock.advance(1_999);
  expect(settled).toBe(false);
  await clock.advance(1);
  await closed;
  expect([stored, await counted('dropped'), clock.pending]).toEqual([[], 2, 0]);
});

test('close stores what waits when the server takes it', async () => {
  const { recorder } = start();
  for (const note of ['a', 'b']) recorder.record(event(note));
  await recorder.close();
  recorder.record(event('late'));
  await recorder.flush();
  expect(notes()).toEqual(['a', 'b']);
});
