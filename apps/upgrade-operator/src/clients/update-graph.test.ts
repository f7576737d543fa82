import { answer, say, startHostileService } from '@flotilla/http/testing';
import { systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createUpdateGraph } from './release-source.ts';

const clusterId = '00000000-0000-4000-8000-000000000001';
const graph = {
  nodes: [{ version: '4.14.9', payload: 'a' }, { version: '4.15.1' }, { version: '4.15.2' }, { version: '4.15.3' }],
  edges: [
    [0, 1],
    [1, 2],
  ],
  conditionalEdges: [{ edges: [{ from: '4.14.9', to: '4.15.3' }], risks: [{ name: 'Fire' }] }],
};
const signal = new AbortController().signal;
const question = { channel: 'stable-4.15', clusterId, version: '4.14.9', architecture: 'amd64' };

test('lists where a version may go, conditional updates too, and says who asks', async () => {
  await using service = await startHostileService(answer(graph));
  await using updates = createUpdateGraph({ clock: systemClock });
  expect(await updates.updates({ ...question, service: service.url.href }, signal)).toEqual(['4.15.1', '4.15.3']);
  expect(service.requests[0]?.line).toContain(`?arch=amd64&channel=stable-4.15&id=${clusterId}&version=4.14.9`);
});

test.each([
  { name: 'an error', reply: say('', 500), message: 'ResponseFailed: unexpected HTTP status: 500 Internal Server Error' },
  { name: 'a graph without the version', reply: answer({ nodes: [], edges: [] }), message: 'VersionNotFound: currently reconciling' },
  { name: 'what is no graph', reply: answer({ nodes: 7 }), message: 'nodes' },
])('says what is wrong with $name', async ({ reply, message }) => {
  await using service = await startHostileService(reply);
  await using updates = createUpdateGraph({ clock: systemClock });
  await expect(updates.updates({ ...question, service: service.url.href }, signal)).rejects.toThrow(message);
});

test('asks for nobody whose identity is none', async () => {
  await using updates = createUpdateGraph({ clock: systemClock });
  await expect(updates.updates({ ...question, service: 'http://127.0.0.1:1', clusterId: 'x' }, signal)).rejects.toThrow(
    'InvalidID: invalid cluster ID: "x" is not a UUID',
  );
});
