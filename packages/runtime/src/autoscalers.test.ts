import { afterEach, beforeEach, expect, test } from 'vitest';
import { listOf, refuse, type ScriptedServer, startScriptedServer, watchOf } from '../testing/scripted-server.ts';
import { Autoscalers } from './autoscalers.ts';
import type { Client } from './client.ts';
import { createClient } from './create-client.ts';
import { createLogger } from './logger.ts';

const WEB = { group: 'apps', kind: 'Deployment', namespace: 'n', name: 'web' };
const autoscaler = {
  metadata: { name: 'a', namespace: 'n', uid: 'uid', resourceVersion: '5' },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
};

let server: ScriptedServer;
let client: Client;
let stop: AbortController;
let warnings: string[];
let autoscalers: Autoscalers;

beforeEach(async () => {
  server = await startScriptedServer();
  server.fallback = (request, response, body) =>
    (request.url?.includes('watch=true') ? watchOf([], 'hang') : listOf('5', [autoscaler]))(request, response, body);
  client = createClient({ kubeconfig: server.kubeconfig });
  stop = new AbortController();
  warnings = [];
  const logger = createLogger({
    name: 't',
    level: 'warn',
    destination: { write: (line) => void (line.includes('Reading the autoscalers failed') && warnings.push(line)) },
  });
  autoscalers = new Autoscalers(client, { logger });
  autoscalers.start(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await autoscalers.stopped();
  await client.close();
  await server[Symbol.asyncDispose]();
});

test('an object is scaled when an autoscaler names it, in any version of its API, and no other', async () => {
  expect(autoscalers.names(WEB)).toBe(false);
  expect(server.requests).toEqual([]);
  expect(await autoscalers.isScaled(WEB)).toBe(true);
  for (const other of [{ namespace: 'm' }, { name: 'db' }, { kind: 'StatefulSet' }, { group: '' }])
    expect(await autoscalers.isScaled({ ...WEB, ...other })).toBe(false);
  expect(server.requests.filter((request) => !request.includes('watch='))).toHaveLength(1);
});

test('a list that is refused is told once, and asked for again', async () => {
  const allow = server.fallback;
  server.fallback = refuse(403, 'Forbidden');
  expect([await autoscalers.isScaled(WEB), await autoscalers.isScaled(WEB)]).toEqual([false, false]);
  server.fallback = allow;
  expect(await autoscalers.isScaled(WEB)).toBe(true);
  expect(warnings).toHaveLength(1);
});

test('a list that fails for a moment says nothing of who is scaled', async () => {
  const answers = server.fallback;
  server.fallback = refuse(500, 'InternalError');
  await expect(autoscalers.isScaled(WEB)).rejects.toThrow();
  server.fallback = answers;
  expect(await autoscalers.isScaled(WEB)).toBe(true);
});
