import { request } from 'node:http';
import { type Client, createClient } from '@flotilla/runtime';
import { ServerStartError } from '../../errors.ts';
import { registerStop } from '../../processes/exit-cleanup.ts';
import { createRunFolder, removeRunFolder } from '../../processes/run.ts';
import type { ApiServer } from './api-server.ts';
import { ADMIN } from './credentials.ts';
import { Loan } from './server-pool.ts';

/** A start of a server included, on a busy machine. */
const TIMEOUT_MS = 180_000;

/** Borrows a server of a pool, with exactly these CRDs, until it is stopped. Throws ServerStartError. */
export async function borrowApiServer(address: string, crds: readonly unknown[]): Promise<ApiServer> {
  const { loan, giveBack } = await ask(address, crds);
  const dir = await createRunFolder('api');
  const clients = new Set<Client>();
  const stop = registerStop(async () => {
    await Promise.all([...clients].map((client) => client.close()));
    giveBack();
    await removeRunFolder(dir);
  });
  const client = (user = ADMIN) => {
    const created = createClient({ kubeconfigPath: kubeconfigOf(loan.kubeconfig, user) });
    clients.add(created);
    return created;
  };
  return {
    ...loan,
    dir,
    kubeconfigFor: async (user) => kubeconfigOf(loan.kubeconfig, user),
    client: async (user) => client(user),
    get etcdPid() {
      return refuse('etcdPid');
    },
    get apiServerPid() {
      return refuse('apiServerPid');
    },
    restart: async () => refuse('restart'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function kubeconfigOf(path: string, user: string): string {
  if (user === ADMIN) return path;
  throw new RangeError(`no user ${user}: give it in options.users; there are ${ADMIN}`);
}

function refuse(what: string): never {
  throw new TypeError(`${what}: this server is the pool's; start one with own: true`);
}

/** Orders one; the connection lasts as long as it is ours. */
async function ask(address: string, crds: readonly unknown[]) {
  const order = request(address, { method: 'POST', agent: false, timeout: TIMEOUT_MS });
  const line = new Promise<string>((resolve, reject) => {
    order.once('timeout', () => order.destroy(new Error(`no server within ${TIMEOUT_MS / 1000} s`)));
    order.once('error', reject);
    order.once('response', (response) => response.setEncoding('utf8').once('data', resolve).on('error', reject));
  });
  order.end(JSON.stringify({ crds }));
  const loan = await line
    .then((text) => Loan.parse(JSON.parse(text)))
    .catch((cause: unknown) => {
      order.destroy();
      throw new ServerStartError(`borrowing an API server of the pool at ${address}: ${String(cause)}`, { cause });
    });
  if ('error' in loan) throw new ServerStartError(loan.error);
  order.setTimeout(0);
  return { loan, giveBack: () => void order.destroy() };
}
