import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** Answers one request; what it does with the response is its own business. */
export type Step = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** For tests: an HTTP server that behaves as badly as it is told. */
export interface ScriptedServer extends AsyncDisposable {
  /** A kubeconfig for it, as text. */
  readonly kubeconfig: string;
  /** Method and URL of every request, in order. */
  readonly requests: string[];
  /** Answers of what has no step left. */
  fallback: Step;
  /** Answers of the next requests, in order. */
  readonly steps: Step[];
  /** Cuts every connection. */
  cut(): void;
}

/** Starts one on a free port of the loopback address. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  const requests: string[] = [];
  const steps: Step[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => (steps.shift() ?? scripted.fallback)(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = address && typeof address === 'object' ? address.port : 0;
  const scripted: ScriptedServer = {
    kubeconfig: kubeconfigFor(`http://127.0.0.1:${port}`),
    requests,
    steps,
    fallback: refuse(404, 'NotFound'),
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return scripted;
}

/** Plain HTTP is accepted only where TLS is not verified anyway. */
const kubeconfigFor = (server: string): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'sesame' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });

/** A JSON answer. */
export const answer =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Step =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));

/** A refusal as an API server words it. */
export const refuse = (status: number, reason: string, headers: Record<string, string> = {}): Step =>
  answer({ kind: 'Status', status: 'Failure', reason, message: `said ${reason}`, code: status }, status, headers);

/** A ConfigMap as a server sends it. */
export const configMap = (name: string, resourceVersion: string, data: unknown = {}): Record<string, unknown> => ({
  metadata: { name, namespace: 'n', uid: `uid-${name}`, resourceVersion, managedFields: [{ manager: 'm' }] },
  data,
});

/** A one-page list. */
export const listOf = (resourceVersion: string, items: readonly unknown[]): Step =>
  answer({ kind: 'ConfigMapList', metadata: { resourceVersion }, items });

/** A watch that sends these lines; then it ends, or stays open. */
export const watchOf =
  (events: readonly unknown[], then: 'end' | 'hang' | 'reset' = 'end'): Step =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const event of events) response.write(typeof event === 'string' ? event : `${JSON.stringify(event)}\n`);
    if (then === 'end') response.end();
    else if (then === 'reset') setImmediate(() => response.destroy());
  };
