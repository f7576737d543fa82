/** HTTP of the console: the page, the stream of rows, questions and changes. */
import fastifyStatic from '@fastify/static';
import { FlotillaError } from '@flotilla/api';
import { ActionRequest, type LoginAnswer, LoginRequest, type Refusal, type TokenAnswer, type ViewerAnswer } from '@flotilla/api/answers';
import { ApiError } from '@flotilla/runtime';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { nextStep } from '../complain.ts';
import { act } from './actions.ts';
import { askEvents, askSpoke, askWhy, askWindow } from './asks.ts';
import { type Door, stranger } from './door.ts';
import { isApiRoute, refusalOf, SECURITY_HEADERS } from './guard.ts';
import { askLane, LaneWish } from './limits.ts';
import { askPlan, PlanWish, type Registry } from './plan.ts';
import { stream } from './stream.ts';
import { type TlsFiles, tlsServer } from './tls.ts';
import type { Viewer } from './viewer.ts';

/** Everything that the server serves. */
interface ServerOptions {
  /** Folder of the built page. */
  readonly page: string;
  readonly door: Door;
  /** Where images of plans are looked up; nowhere when absent. */
  readonly registry?: Registry;
  /** Default: this machine alone, a free port, no encryption. */
  readonly listen?: { readonly host: string; readonly port: number; readonly tls: TlsFiles | undefined };
}

/** The console's server, as long as it listens. */
interface ConsoleServer extends AsyncDisposable {
  readonly port: number;
}

/** An action is some lines, and the names of the spokes that were chosen. */
const MOST_BODY = 160 * 1024;
/** Addresses of views: each is the page, which reads the rest itself. */
const VIEWS = ['/', '/upgrades/:namespace/:name', '/upgrades/:namespace/:name/plan', '/spokes/:name'];

/** A namespace, a slash and a name. */
const MOST_NAME = 320;
const name = z.string().min(1).max(MOST_NAME);
/** Tabs that share a stream look at as many upgrades at most. */
const MOST_LOOKED = 50;
const names = z
  .union([name.transform((one) => [one]), z.array(name)])
  .default([])
  .refine(({ length }) => length <= MOST_LOOKED, { error: `names more than ${MOST_LOOKED} upgrades` });
const StreamQuery = z.object({ upgrade: names, fresh: names });
const WhyQuery = z.object({ upgrade: name, cluster: name.optional() });
const UpgradeQuery = z.object({ upgrade: name });
const PlanQuery = PlanWish.extend({ upgrade: name });
const SpokeQuery = z.object({ name });

/** Listens. */
export async function openServer({ page, door, registry, listen = OWN_MACHINE }: ServerOptions): Promise<ConsoleServer> {
  const { host, port, tls } = listen;
  const routerOptions = { maxParamLength: MOST_NAME };
  const app = fastify({ bodyLimit: MOST_BODY, forceCloseConnections: true, routerOptions, serverFactory: await tlsServer(tls) });
  const viewers = guard(app, door);
  await app.register(fastifyStatic, { root: page, wildcard: false, index: false, cacheControl: false });
  for (const path of VIEWS) app.get(path, (_, reply) => reply.sendFile('index.html'));
  app.get('/login', (): LoginAnswer => {
    door.offer?.();
    return { login: door.login };
  });
  app.post('/login', (request): TokenAnswer => {
    const { code } = LoginRequest.parse(request.body);
    if (!door.exchange) throw stranger('this console takes tokens of the API server, and no codes');
    return { token: door.exchange(code) };
  });
  serveApi(app, viewers, registry);
  await app.listen({ host, port });
  return { port: portOf(app), [Symbol.asyncDispose]: () => app.close() };
}

const OWN_MACHINE = { host: '127.0.0.1', port: 0, tls: undefined };

function portOf({ server }: FastifyInstance): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server listens nowhere');
  return address.port;
}

/** Finds the viewer that the door let in for a request. */
type ViewerOf = (request: FastifyRequest) => Viewer;

/** Before anything is looked up: every answer has the headers, and who is not let in learns nothing but why. */
function guard(app: FastifyInstance, door: Door): ViewerOf {
  const viewers = new WeakMap<FastifyRequest, Viewer>();
  // A form of another page may send text without asking first.
  app.removeContentTypeParser('text/plain');
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request;
    reply.headers(SECURITY_HEADERS);
    const refused = refusalOf({ method, route: routeOptions.url, headers }, door.origins(portOf(app)));
    if (refused) return reply.code(refused.status).send(refusal(refused.says));
    if (isApiRoute(routeOptions.url)) viewers.set(request, await door.enter(headers));
  });
  app.setNotFoundHandler(({ method, headers }, reply) => {
    // Somebody who opens a wrong address sees the page say so.
    if (method === 'GET' && headers['sec-fetch-dest'] === 'document') return reply.code(404).sendFile('index.html');
    return reply.code(404).send(refusal('there is nothing here: open the address that the command printed'));
  });
  app.setErrorHandler((error, _, reply) => reply.code(statusOf(error)).send(refusal(sentenceOf(error))));
  return (request) => {
    const viewer = viewers.get(request);
    if (!viewer) throw new TypeError('nobody was let in');
    return viewer;
  };
}

const refusal = (error: string): z.output<typeof Refusal> => ({ error });

const statuses: Readonly<Record<string, number>> = {
  FLOTILLA_CONFIG: 400,
  FLOTILLA_CONSOLE_LOGIN: 401,
  FLOTILLA_ENDED: 409,
  FLOTILLA_CONSOLE_FULL: 503,
};

function statusOf(error: unknown): number {
  if (error instanceof ApiError) return error.status === 403 ? 403 : 502;
  if (error instanceof z.ZodError) return 400;
  if (error instanceof FlotillaError) return statuses[error.code] ?? 404;
  const { statusCode } = z.looseObject({ statusCode: z.number().min(400).max(499) }).safeParse(error).data ?? {};
  return statusCode ?? 500;
}

const sentenceOf = (error: unknown): string => (error instanceof z.ZodError ? z.prettifyError(error) : nextStep(error));

function serveApi(app: FastifyInstance, viewerOf: ViewerOf, registry: Registry | undefined): void {
  app.get('/api/stream', (request, reply) => {
    const { query, headers } = request;
    const { upgrade: upgrades, fresh } = StreamQuery.parse(query);
    const after = z.string().max(64).optional().parse(headers['last-event-id']);
    const viewer = viewerOf(request);
    reply.hijack();
    stream(reply.raw, viewer, { upgrades, fresh, after });
  });
  app.get('/api/viewer', (request): ViewerAnswer => ({ viewer: viewerOf(request).greeting.viewer ?? '' }));
  app.get('/api/why', (request) => {
    const { upgrade, cluster } = WhyQuery.parse(request.query);
    return askWhy(viewerOf(request).deps, upgrade, cluster);
  });
  app.get('/api/plan', (request) => {
    const { upgrade, ...wish } = PlanQuery.parse(request.query);
    return askPlan(viewerOf(request).deps, registry, upgrade, wish);
  });
  app.get('/api/limits', (request) => askLane(viewerOf(request).deps, LaneWish.parse(request.query)));
  app.get('/api/events', (request) => askEvents(viewerOf(request).deps, UpgradeQuery.parse(request.query).upgrade));
  app.get('/api/spoke', (request) => askSpoke(viewerOf(request).deps, SpokeQuery.parse(request.query).name));
  app.get('/api/window', (request) => askWindow(viewerOf(request).deps, UpgradeQuery.parse(request.query).upgrade));
  app.post('/api/actions', (request) => act(viewerOf(request).deps, ActionRequest.parse(request.body)));
}
