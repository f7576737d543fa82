import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Finds free TCP ports on an address. Another program may take one before it is used: whoever starts a server retries. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const servers: Server[] = [];
  try {
    for (let i = 0; i < count; i += 1) {
      const server = createServer().listen(0, host);
      servers.push(server);
      await once(server, 'listening');
    }
    return servers.map(portOf);
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Port a listening TCP server has. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server does not listen on a TCP port');
  return address.port;
}
