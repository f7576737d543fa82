import { expect, test } from 'vitest';
import { graphOf } from '../../tools/src/source-graph.ts';
import { httpClients, trustingClients } from './http-clients.ts';
import { graph } from './repository.ts';

/** Sources that send requests, and why `packages/http` does not for them. */
const CLIENTS = new Map([
  ['packages/http/src/answer.ts', 'is the client'],
  ['packages/http/src/connections.ts', 'has its connections'],
  [
    'packages/runtime/src/connection.ts',
    'calls of the API server share a session, and each watch has a connection; deadlines, bodies and retries are those of packages/http',
  ],
  ['apps/image-puller/src/nodes/channel.ts', 'nodes know one another by a pre-shared key alone, which undici does not take'],
]);

test('requests are sent by packages/http alone, but where a reason is given', () => {
  expect(httpClients(graph).toSorted()).toEqual([...CLIENTS.keys()].toSorted());
});

test('a second client is found; servers, types and tests are none', () => {
  const texts = new Map([
    ['apps/a/src/own.ts', "import { request } from 'node:https';"],
    ['apps/a/src/whole.ts', "import * as http from 'node:http';"],
    ['packages/b/src/pool.ts', "import { type Dispatcher, Pool } from 'undici';"],
    ['packages/b/src/type.ts', "import type { Dispatcher } from 'undici';"],
    ['packages/b/src/server.ts', "import { createServer, type IncomingMessage } from 'node:http';"],
    ['packages/b/src/pool.test.ts', "import { request } from 'undici';"],
    ['packages/control-plane/src/proxy.ts', "import { request } from 'node:http';"],
  ]);
  expect(httpClients(graphOf(texts))).toEqual(['apps/a/src/own.ts', 'apps/a/src/whole.ts', 'packages/b/src/pool.ts']);
});

/** Sources that open TLS connections or make their context. */
const TRUST = new Map([['packages/http/src/trust.ts', 'is the one context']]);

test('certificates are trusted by packages/http alone, but where a reason is given', () => {
  expect(trustingClients(graph).toSorted()).toEqual([...TRUST.keys()].toSorted());
});

test('a context of its own is found; types and servers are none', () => {
  const texts = new Map([
    ['apps/a/src/own.ts', "import { createSecureContext } from 'node:tls';"],
    ['apps/a/src/whole.ts', "import * as tls from 'node:tls';"],
    ['packages/b/src/server.ts', "import { TLSSocket } from 'node:tls';"],
    ['packages/b/src/own.test.ts', "import { connect } from 'node:tls';"],
  ]);
  expect(trustingClients(graphOf(texts))).toEqual(['apps/a/src/own.ts', 'apps/a/src/whole.ts']);
});
