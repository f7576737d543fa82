import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';

/** Ports below it belong to services of the machine. */
const FIRST = 15_000;
const ATTEMPTS = 200;

/**
 * Finds TCP ports that are free on an address, and keeps them from every other caller of this function on the machine until this process ends.
 * They lie below the range from which the kernel picks ports for connections. Elsewhere than on Linux, another program may take one before
 * it is used. Throws RangeError when it finds none.
 */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const end = firstKernelPort();
  const ports: number[] = [];
  while (ports.length < count) ports.push(end === undefined ? await kernelPort(host) : await reservedPort(host, end));
  return ports;
}

async function reservedPort(host: string, end: number): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FIRST, end);
    // The kernel keeps an abstract socket's name for as long as its process lives, however that ends.
    const reservation = await listening({ path: `\0flotilla-port-${port}` });
    if (!reservation) continue;
    const probe = await listening({ port, host });
    if (probe) {
      await closed(probe);
      reservation.unref();
      return port;
    }
    await closed(reservation);
  }
  throw new RangeError(`no free port on ${host} from ${FIRST} to ${end - 1} in ${ATTEMPTS} attempts`);
}

/** A port of the kernel's choice: another program can get it as soon as this returns. */
async function kernelPort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const port = portOf(server);
  await closed(server);
  return port;
}

/** First port the kernel picks for connections; undefined where names cannot be reserved, or no range is left below. */
function firstKernelPort(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const first = Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  return first > FIRST + ATTEMPTS ? first : undefined;
}

/** A server that listens there; undefined when something else does. */
async function listening(at: { path: string } | { port: number; host: string }): Promise<Server | undefined> {
  const server = createServer();
  server.listen({ ...at, exclusive: true });
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

const closed = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

/** Port a listening TCP server has. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server does not listen on a TCP port');
  return address.port;
}
