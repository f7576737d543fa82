import { createServer, request as forward } from 'node:http';

/** A server in front of a registry. */
interface RefusingProxy extends AsyncDisposable {
  readonly host: string;
  /** Requests that were refused. */
  readonly refused: number;
}

/** Passes requests on to a server, but answers 403 to those that are to be refused. */
export async function startRefusingProxy(
  target: string,
  isRefused: (request: { method: string; path: string }) => boolean,
): Promise<RefusingProxy> {
  const { hostname, port } = new URL(target);
  let refused = 0;
  const server = createServer((incoming, answer) => {
    const { method = '', url: path = '' } = incoming;
    if (isRefused({ method, path })) {
      refused++;
      incoming.resume();
      answer.writeHead(403, { 'content-type': 'application/json' }).end('{"errors":[{"code":"DENIED","message":"quota"}]}');
      return;
    }
    // The host is the client's, so that the registry's locations lead back here.
    const outgoing = forward({ hostname, port, method, path, headers: incoming.headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    outgoing.on('error', () => answer.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    host: `127.0.0.1:${address.port}`,
    get refused() {
      return refused;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
