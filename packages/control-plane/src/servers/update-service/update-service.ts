import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { portOf } from '../../processes/free-port.ts';
import { type Fault, playFault } from '../cluster-manager/faults.ts';

/** A question that came in. */
export interface UpdateQuestion {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** An update-graph service, with a monitoring system that answers the queries of risks. */
export interface UpdateService extends AsyncDisposable {
  /** URL of the graph, as seen from this machine. */
  readonly url: string;
  readonly port: number;
  /** URL of monitoring, without the path. */
  readonly monitoringUrl: string;
  readonly asked: readonly UpdateQuestion[];
  /** Sets the graph that everybody gets, whatever the question. */
  setGraph(graph: unknown): void;
  /** Samples of each query; one that is not named answers none. */
  setSamples(samples: Readonly<Record<string, readonly number[]>>): void;
  /** Alerts that monitoring tells of. */
  setAlerts(alerts: readonly unknown[]): void;
  /** From now on; none ends them. The first that fits a request (`GET /graph?…`) is played, so many times as it says. */
  setFaults(...faults: readonly Fault[]): void;
  stop(): Promise<void>;
}

/** Starts both on one free port of this machine. @param host address to listen on: `0.0.0.0` makes it reachable from clusters */
export async function startUpdateService({ host = '127.0.0.1' }: { readonly host?: string } = {}): Promise<UpdateService> {
  const asked: UpdateQuestion[] = [];
  let graph: unknown = { nodes: [], edges: [] };
  let samples: Readonly<Record<string, readonly number[]>> = {};
  let alerts: readonly unknown[] = [];
  let faults: { fault: Fault; left: number }[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service.invalid');
    const query = Object.fromEntries(searchParams);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    asked.push({ path: pathname, query, headers });
    const due = faults.find(({ fault, left }) => left > 0 && (fault.path?.test(`${request.method} ${request.url}`) ?? true));
    if (due) {
      due.left--;
      if (await playFault(due.fault, response)) return;
    }
    if (pathname === '/api/v1/query') return send(response, vectorOf(samples[query.query ?? ''] ?? []));
    if (pathname === '/api/v1/alerts') return send(response, { status: 'success', data: { alerts } });
    if (pathname === '/graph') return send(response, graph);
    response.writeHead(404).end();
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const port = portOf(server);
  const origin = `http://127.0.0.1:${port}`;
  return {
    url: `${origin}/graph`,
    port,
    monitoringUrl: origin,
    asked,
    setGraph: (next) => {
      graph = next;
    },
    setSamples: (next) => {
      samples = next;
    },
    setAlerts: (next) => {
      alerts = next;
    },
    setFaults: (...next) => {
      faults = next.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const send = (response: ServerResponse, body: unknown): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const vectorOf = (values: readonly number[]) => ({
  status: 'success',
  data: { resultType: 'vector', result: values.map((value) => ({ metric: {}, value: [0, String(value)] })) },
});
