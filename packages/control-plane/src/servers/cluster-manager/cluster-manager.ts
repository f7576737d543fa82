import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { portOf } from '../../processes/free-port.ts';
import { type Answer, answerTo, type ManagedPolicy, type ManagerState, refusal } from './endpoints.ts';
import { type Fault, playFault } from './faults.ts';

/** A cluster of OpenShift Cluster Manager and its upgrade policies. */
export interface ClusterManagerOptions {
  /** `spec.clusterID` of the ClusterVersion. */
  readonly externalId: string;
  /** Credential that is asked for, as it stands in the pull secret. */
  readonly token: string;
  /** Default `stable`. */
  readonly channelGroup?: string;
  /** Default 60. */
  readonly drainMinutes?: number;
}

/** A request that came in. */
export interface ManagerRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly path: string;
  readonly body: unknown;
  readonly userAgent: string;
}

/** OpenShift Cluster Manager's API as far as an upgrade uses it: clusters, upgrade policies with their states, service logs. */
export interface ClusterManager extends AsyncDisposable {
  readonly url: string;
  /** The cluster's id within the manager. */
  readonly clusterId: string;
  readonly requests: readonly ManagerRequest[];
  /** States that were written, in order, as `policy: value`. */
  readonly written: readonly string[];
  readonly serviceLogs: readonly Readonly<Record<string, unknown>>[];
  /** Sets the policies; new ones are scheduled. */
  setPolicies(policies: readonly ManagedPolicy[]): void;
  setState(policyId: string, value: string, description?: string): void;
  stateOf(policyId: string): { readonly value: string; readonly description: string } | undefined;
  /** The cluster's owner was banned, or is known again. */
  setKnown(known: boolean): void;
  /** Another token counts from now on. */
  setToken(token: string): void;
  /** From now on; none ends them. The first that fits a request is played, so many times as it says. */
  setFaults(...faults: readonly Fault[]): void;
  stop(): Promise<void>;
}

const CLUSTER_ID = 'internal-1';

/** Starts it on a free port of this machine. */
export async function startClusterManager(options: ClusterManagerOptions): Promise<ClusterManager> {
  const state: ManagerState = {
    clusterId: CLUSTER_ID,
    externalId: options.externalId,
    token: options.token,
    known: true,
    channelGroup: options.channelGroup ?? 'stable',
    drainMinutes: options.drainMinutes ?? 60,
    policies: [],
    states: new Map(),
    written: [],
    serviceLogs: [],
    serviceLogTimes: [],
  };
  const requests: ManagerRequest[] = [];
  let faults: { fault: Fault; left: number }[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/' } = request;
    const body = await readBody(request);
    requests.push({ method, path, body, userAgent: request.headers['user-agent'] ?? '' });
    const due = faults.find(({ fault, left }) => left > 0 && (fault.path?.test(`${method} ${path}`) ?? true));
    if (due) {
      due.left--;
      if (await playFault(due.fault, response)) return;
    }
    const isAllowed = request.headers.authorization === `AccessToken ${state.externalId}:${state.token}`;
    send(response, isAllowed ? answerTo(state, { method, path, body }) : refusal(401, 'Account is not authorized'));
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => send(response, refusal(400, 'the request cannot be read')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    clusterId: CLUSTER_ID,
    requests,
    written: state.written,
    serviceLogs: state.serviceLogs,
    setPolicies(policies) {
      state.policies = [...policies];
      for (const { id } of policies) if (!state.states.has(id)) state.states.set(id, { value: 'scheduled', description: '' });
    },
    setState: (policyId, value, description = '') => void state.states.set(policyId, { value, description }),
    stateOf: (policyId) => state.states.get(policyId),
    setKnown(known) {
      state.known = known;
    },
    setToken(token) {
      state.token = token;
    },
    setFaults(...next) {
      faults = next.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.headersSent) return;
  response.writeHead(status, { 'content-type': 'application/json', 'x-operation-id': 'operation-1' }).end(JSON.stringify(body));
}

const MAX_BODY = 1024 * 1024;

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BODY) throw new Error('too large');
  }
  return size === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
