import { ConfigMap, Namespace } from '@flotilla/api/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  answer,
  configMap,
  listOf,
  refuse,
  type ScriptedServer,
  type Step,
  startScriptedServer,
  watchOf,
} from '../testing/scripted-server.ts';
import type { Client, InvalidObject } from './client.ts';
import { createClient } from './create-client.ts';
import { isAlreadyExists, isConflict, isExpired, isNotFound, RuntimeErrorCode } from './errors.ts';

let server: ScriptedServer;
let client: Client;
const invalid: InvalidObject[] = [];
const ref = { namespace: 'n', name: 'a' };

beforeEach(async () => {
  server = await startScriptedServer();
  invalid.length = 0;
  client = createClient({ kubeconfig: server.kubeconfig, watchIdleMs: 400, onInvalid: (object) => invalid.push(object) });
});
afterEach(async () => {
  await client.close();
  await server[Symbol.asyncDispose]();
});

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('calls', () => {
  test('a get sends the token and parses the object', async () => {
    let authorization: string | undefined;
    server.steps.push((request, response, body) => {
      authorization = request.headers.authorization;
      answer(configMap('a', '1', { k: 'v' }))(request, response, body);
    });
    expect((await client.get(ConfigMap, ref))?.data).toEqual({ k: 'v' });
    expect(authorization).toBe('Bearer sesame');
    expect(server.requests).toEqual(['GET /api/v1/namespaces/n/configmaps/a']);
  });

  test('a redirect is followed nowhere, with or without the token', async () => {
    server.steps.push((_, response) => response.writeHead(302, { location: '/api/v1/namespaces/n/configmaps/b' }).end());
    expect(await failure(client.get(ConfigMap, ref))).toMatchObject({ status: 302 });
    expect(server.requests).toEqual(['GET /api/v1/namespaces/n/configmaps/a']);
  });

  test('a missing object is an answer of get and delete, and an error of patch', async () => {
    expect(await client.get(ConfigMap, ref)).toBeUndefined();
    expect(await client.delete(ConfigMap, ref)).toBe(false);
    expect(isNotFound(await failure(client.patch(ConfigMap, ref, {}, { type: 'merge' })))).toBe(true);
  });

  test.each([
    { name: 'AlreadyExists', status: 409, is: isAlreadyExists },
    { name: 'Conflict', status: 409, is: isConflict },
    { name: 'Expired', status: 410, is: isExpired },
  ])('a $name is told from its neighbours', async ({ name, status, is }) => {
    server.steps.push(refuse(status, name));
    const error = await failure(client.create(ConfigMap, { metadata: ref }));
    expect([isAlreadyExists, isConflict, isExpired].filter((other) => other(error))).toEqual([is]);
    expect(error).toMatchObject({ status, reason: name, serverMessage: `said ${name}` });
  });

  test('a delete with a uid counts another object of that name as gone', async () => {
    server.steps.push(refuse(409, 'Conflict'));
    expect(await client.delete(ConfigMap, ref, { uid: 'u' })).toBe(false);
  });

  test('a 429 is sent again after its Retry-After, also for a create', async () => {
    server.steps.push(refuse(429, 'TooManyRequests', { 'retry-after': '0' }), answer(configMap('a', '1')));
    expect((await client.create(ConfigMap, { metadata: ref })).metadata.name).toBe('a');
    expect(server.requests).toHaveLength(2);
  });

  test('a Retry-After beyond the time-out is not waited for', async () => {
    server.steps.push(refuse(429, 'TooManyRequests', { 'retry-after': '60' }));
    expect(await failure(client.get(ConfigMap, ref, { timeoutMs: 500 }))).toMatchObject({
      code: RuntimeErrorCode.throttled,
      retryAfterMs: 60_000,
    });
  });

  test('a 503 is sent again for a get and not for a create', async () => {
    server.steps.push(
      refuse(503, 'ServiceUnavailable', { 'retry-after': '0' }),
      answer(configMap('a', '1')),
      refuse(503, 'ServiceUnavailable'),
    );
    expect(await client.get(ConfigMap, ref)).toBeDefined();
    expect(await failure(client.create(ConfigMap, { metadata: ref }))).toMatchObject({ code: RuntimeErrorCode.unavailable, status: 503 });
    expect(server.requests).toHaveLength(3);
  });

  test('a connection that was cut is opened again for a get', async () => {
    server.steps.push((request) => request.socket.destroy(), answer(configMap('a', '1')));
    expect(await client.get(ConfigMap, ref)).toBeDefined();
  });

  test('an answer without headers or without an end runs into the time-out', async () => {
    server.steps.push(
      () => undefined,
      (_request, response) => void response.writeHead(200).write('{"metadata":'),
    );
    expect(await failure(client.get(ConfigMap, ref, { timeoutMs: 100 }))).toMatchObject({ code: RuntimeErrorCode.timeout });
    expect(await failure(client.get(ConfigMap, ref, { timeoutMs: 100 }))).toMatchObject({ code: RuntimeErrorCode.timeout });
  });

  test("the caller's abort is thrown as it was given", async () => {
    server.steps.push(() => controller.abort(new Error('enough')));
    const controller = new AbortController();
    expect(await failure(client.get(ConfigMap, ref, { signal: controller.signal }))).toMatchObject({ message: 'enough' });
  });

  test('a body that never ends is cut off', async () => {
    server.steps.push((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      response.writeHead(200);
      more();
    });
    expect(await failure(client.getText('/metrics', { maxBytes: 1_000_000 }))).toMatchObject({ code: RuntimeErrorCode.tooLarge });
  });

  test.each([
    { name: 'garbage', step: ((_q, response) => void response.end('garbage')) satisfies Step },
    { name: 'an object of another shape', step: answer({ metadata: { name: 7 } }) },
  ])('$name in place of an object is a bad answer', async ({ step }) => {
    server.steps.push(step);
    expect(await failure(client.get(ConfigMap, ref))).toMatchObject({ code: RuntimeErrorCode.badAnswer, status: 0 });
  });

  const page = `<!doctype html><html><head><title>Log in\nhere</title></head>${'<p>x</p>'.repeat(1_000)}</html>`;
  const pageOf =
    (status: number): Step =>
    (_request, response) =>
      void response.writeHead(status, { 'content-type': 'text/html' }).end(page);

  test.each([
    { name: 'a refusal', step: pageOf(403), want: { code: RuntimeErrorCode.forbidden, status: 403 }, says: 'a web page: Log in here' },
    { name: 'an answer', step: pageOf(200), want: { code: RuntimeErrorCode.badAnswer, status: 0 }, says: 'a web page: Log in here' },
    {
      name: 'a redirect',
      step: ((_request, response) =>
        void response.writeHead(302, { location: 'https://login.example/auth?state=secret' }).end(page)) satisfies Step,
      want: { code: RuntimeErrorCode.refused, status: 302 },
      says: 'a redirect to https://login.example',
    },
  ])('$name that no API server gives is told in a line', async ({ step, want, says }) => {
    server.steps.push(step);
    const serverMessage = `the answer is ${says}`;
    expect(await failure(client.get(ConfigMap, ref))).toMatchObject({ ...want, isForeign: true, serverMessage });
  });

  test('a page in place of an object does not say that the object is not there', async () => {
    server.steps.push(pageOf(404));
    expect(await failure(client.get(ConfigMap, ref))).toMatchObject({ status: 404, isForeign: true });
  });

  test('an error never carries the token', async () => {
    server.steps.push(refuse(403, 'Forbidden'));
    const error = await failure(client.get(ConfigMap, ref));
    expect(JSON.stringify([error, String(error)])).not.toContain('sesame');
  });

  test('nothing is sent for a name that would change the path', async () => {
    for (const name of ['', '..', 'a/b', 'a%2fb', 'a\n', 'x'.repeat(254)]) {
      expect(await failure(client.get(ConfigMap, { namespace: 'n', name }))).toMatchObject({ code: RuntimeErrorCode.invalidRef });
    }
    expect(await failure(client.get(ConfigMap, { name: 'a' }))).toMatchObject({ code: RuntimeErrorCode.invalidRef });
    expect(await failure(client.get(Namespace, { name: '../nodes' }))).toMatchObject({ code: RuntimeErrorCode.invalidRef });
    expect(server.requests).toEqual([]);
  });
});

describe('lists', () => {
  const page = (next: string | undefined, items: unknown[]) => answer({ metadata: { resourceVersion: '9', continue: next }, items });

  test('all pages are read', async () => {
    server.steps.push(page('more', [configMap('a', '1')]), page(undefined, [configMap('b', '2')]));
    const { items, resourceVersion } = await client.list(ConfigMap, { namespace: 'n', labelSelector: 'x=y' });
    expect(items.map((item) => item.metadata.name)).toEqual(['a', 'b']);
    expect(resourceVersion).toBe('9');
    expect(server.requests[1]).toBe('GET /api/v1/namespaces/n/configmaps?labelSelector=x%3Dy&limit=500&continue=more');
  });

  test('a continue token that ran out begins the list again', async () => {
    server.steps.push(page('more', [configMap('a', '1')]), refuse(410, 'Expired'), page(undefined, [configMap('b', '2')]));
    expect((await client.list(ConfigMap)).items.map((item) => item.metadata.name)).toEqual(['b']);
  });

  test('an invalid item is reported and skipped', async () => {
    server.steps.push(listOf('9', [configMap('a', '1', { k: 7 }), configMap('b', '2')]));
    expect((await client.list(ConfigMap)).items.map((item) => item.metadata.name)).toEqual(['b']);
    expect(invalid).toMatchObject([{ ref, resourceVersion: '1', deleted: false }]);
  });
});

describe('watches', () => {
  const collect = async (): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const event of client.watch(ConfigMap, { resourceVersion: '1' }))
      seen.push(event.type === 'BOOKMARK' ? event : [event.type, event.object.metadata.name]);
    return seen;
  };
  const added = (name: string, data = {}) => ({ type: 'ADDED', object: configMap(name, '2', data) });

  test('events come whole, whatever the pieces; half an event at the end is dropped', async () => {
    const text = `${JSON.stringify(added('ä'))}\n\n${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } })}\n{"type":"ADD`;
    server.steps.push((_request, response) => {
      response.writeHead(200);
      for (const byte of Buffer.from(text)) response.write(Buffer.from([byte]));
      response.end();
    });
    expect(await collect()).toEqual([['ADDED', 'ä'], { type: 'BOOKMARK', resourceVersion: '7' }]);
    expect(server.requests[0]).toMatch(/watch=true&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds=[3-6]\d\d$/);
  });

  test('an object that does not parse is reported and does not end the watch', async () => {
    server.steps.push(watchOf([added('bad', { k: 1 }), { type: 'DELETED', object: configMap('gone', '3', 5) }, added('good')]));
    expect(await collect()).toEqual([['ADDED', 'good']]);
    expect(invalid).toMatchObject([
      { ref: { name: 'bad' }, deleted: false },
      { ref: { name: 'gone' }, deleted: true },
    ]);
  });

  test.each([
    { name: '410 over HTTP', step: refuse(410, 'Expired'), want: { code: RuntimeErrorCode.expired, status: 410 } },
    {
      name: '410 in-band',
      step: watchOf([{ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } }]),
      want: { code: RuntimeErrorCode.expired, status: 410, serverMessage: 'too old' },
    },
    { name: 'another error in-band', step: watchOf([{ type: 'ERROR', object: { code: 500 } }]), want: { status: 500 } },
    { name: 'a line that is no event', step: watchOf(['garbage\n']), want: { code: RuntimeErrorCode.badAnswer } },
    { name: 'a lost connection', step: watchOf([added('a')], 'reset'), want: { code: RuntimeErrorCode.unreachable } },
  ])('$name ends it with an error', async ({ step, want }) => {
    server.steps.push(step);
    expect(await failure(collect())).toMatchObject(want);
  });

  test('silence ends it without an error, as if the server had', async () => {
    server.steps.push(watchOf([added('a')], 'hang'));
    expect(await collect()).toEqual([['ADDED', 'a']]);
  });

  test('bookmarks are no silence', async () => {
    const bookmark = (version: number) => `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"${version}"}}}\n`;
    server.steps.push((_request, response) => {
      let version = 1;
      response.writeHead(200).write(bookmark(version));
      const beat = setInterval(() => {
        version += 1;
        if (version <= 6) response.write(bookmark(version));
        else response.end();
      }, 150);
      response.once('close', () => clearInterval(beat));
    });
    expect(await collect()).toHaveLength(6);
  });

  test('a call that was not answered ends the watches that share its fate, and the next one has a connection of its own', async () => {
    const patient = createClient({ kubeconfig: server.kubeconfig });
    server.steps.push(watchOf([added('a')], 'hang'), () => undefined, watchOf([added('b')]));
    const watch = async (then?: () => Promise<unknown>): Promise<string[]> => {
      const seen: string[] = [];
      for await (const event of patient.watch(ConfigMap, { resourceVersion: '1' })) {
        if (event.type !== 'BOOKMARK') seen.push(event.object.metadata.name);
        await then?.();
      }
      return seen;
    };
    const timedOut = () => failure(patient.get(ConfigMap, ref, { timeoutMs: 100 }));
    expect(await failure(watch(timedOut))).toMatchObject({ code: RuntimeErrorCode.unreachable });
    expect(await watch()).toEqual(['b']);
    await patient.close();
  });

  test('an abort ends it without an error', async () => {
    server.steps.push(watchOf([added('a')], 'hang'));
    const controller = new AbortController();
    const seen: string[] = [];
    for await (const event of client.watch(ConfigMap, { resourceVersion: '1', signal: controller.signal })) {
      seen.push(event.type);
      controller.abort();
    }
    expect(seen).toEqual(['ADDED']);
  });
});
