/** HTTP of the console: the page, the stream of rows, questions and changes. */
import type { ServerResponse } from 'node:http';
import fastifyStatic from '@fastify/static';
import { FlotillaError } from '@flotilla/api';
import { ActionRequest, type Refusal, type StreamMessage } from '@flotilla/api/answers';
import { ApiError } from '@flotilla/runtime';
import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { nextStep } from '../complain.ts';
import { act } from './actions.ts';
import { type AskDeps, askEvents, askSpoke, askWhy } from './asks.ts';
import { type Door, refusalOf, SECURITY_HEADERS } from './guard.ts';
import type { Feed, Sent } from './rows/feed.ts';

/** Everything that the server serves. */
interface ServerOptions {
  /** Folder of the built page. */
  readonly page: string;
  readonly token: string;
  readonly feed: Feed;
  readonly deps: AskDeps;
  /** Said to every page once. */
  readonly greeting: StreamMessage;
}

/** The console's server, as long as it listens. */
interface ConsoleServer extends AsyncDisposable {
  readonly port: number;
}

/** An action is some lines. */
const MOST_BODY = 16 * 1024;
/** A page that takes so little that this much waits for it is cut off, and comes again for what it missed. */
const MOST_UNSENT = 8 * 1024 * 1024;
/** A silent stream says that it lives. */
const ALIVE_MS = 10_000;
/** Addresses of views: each is the page, which reads the rest itself. */
const VIEWS = ['/', '/upgrades/:namespace/:name', '/spokes/:name'];

const name = z.string().min(1).max(320);
const StreamQuery = z.object({ upgrade: name.optional() });
const WhyQuery = z.object({ upgrade: name, cluster: name.optional() });
const EventsQuery = z.object({ upgrade: name });
const SpokeQuery = z.object({ name });

/** Listens on this machine alone, at a free port. */
export async function openServer(options: ServerOptions): Promise<ConsoleServer> {
  const app = fastify({ bodyLimit: MOST_BODY, forceCloseConnections: true });
  const door = { port: 0, token: options.token };
  guard(app, door);
  await app.register(fastifyStatic, { root: options.page, wildcard: false, index: false, cacheControl: false });
  for (const path of VIEWS) app.get(path, (_, reply) => reply.sendFile('index.html'));
  serveApi(app, options);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server listens nowhere');
  door.port = address.port;
  return { port: door.port, [Symbol.asyncDispose]: () => app.close() };
}

/** Before anything is looked up: every answer has the headers, and who is not let in learns nothing but why. */
function guard(app: FastifyInstance, door: Door): void {
  // A form of another page may send text without asking first.
  app.removeContentTypeParser('text/plain');
  app.addHook('onRequest', async ({ method, headers, routeOptions }, reply) => {
    reply.headers(SECURITY_HEADERS);
    const refused = refusalOf({ method, route: routeOptions.url, headers }, door);
    if (refused) await reply.code(refused.status).send(refusal(refused.says));
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send(refusal('there is nothing here: open the address that the command printed')));
  app.setErrorHandler((error, _, reply) => reply.code(statusOf(error)).send(refusal(sentenceOf(error))));
}

const refusal = (error: string): z.output<typeof Refusal> => ({ error });

function statusOf(error: unknown): number {
  if (error instanceof ApiError) return error.status === 403 ? 403 : 502;
  if (error instanceof z.ZodError) return 400;
  if (error instanceof FlotillaError) return error.code === 'FLOTILLA_ENDED' ? 409 : error.code === 'FLOTILLA_CONFIG' ? 400 : 404;
  const { statusCode } = z.looseObject({ statusCode: z.number().min(400).max(499) }).safeParse(error).data ?? {};
  return statusCode ?? 500;
}

const sentenceOf = (error: unknown): string => (error instanceof z.ZodError ? z.prettifyError(error) : nextStep(error));

function serveApi(app: FastifyInstance, { feed, deps, greeting }: ServerOptions): void {
  app.get('/api/stream', ({ query, headers }, reply) => {
    const { upgrade } = StreamQuery.parse(query);
    const after = z.string().max(64).optional().parse(headers['last-event-id']);
    reply.hijack();
    stream(reply.raw, (send) => feed.listen({ upgrade, after, greeting }, send));
  });
  app.get('/api/why', ({ query }) => {
    const { upgrade, cluster } = WhyQuery.parse(query);
    return askWhy(deps, upgrade, cluster);
  });
  app.get('/api/events', ({ query }) => askEvents(deps, EventsQuery.parse(query).upgrade));
  app.get('/api/spoke', ({ query }) => askSpoke(deps, SpokeQuery.parse(query).name));
  app.post('/api/actions', ({ body }) => act(deps, ActionRequest.parse(body)));
}

/** Server-sent events, until the page or the server ends it. */
function stream(response: ServerResponse, listen: (send: (sent: Sent) => void) => () => void): void {
  response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream; charset=utf-8' });
  const unheard = listen(({ id, data }) => {
    response.write(`id: ${id}\ndata: ${data}\n\n`);
    if (response.writableLength > MOST_UNSENT) response.destroy();
  });
  const alive = setInterval(() => response.write(': \n\n'), ALIVE_MS);
  response.once('close', () => {
    clearInterval(alive);
    unheard();
  });
}
