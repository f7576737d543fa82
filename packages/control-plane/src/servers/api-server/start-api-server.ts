import { type ApiServer, type ApiServerOptions, startOwnApiServer } from './api-server.ts';
import { applyCrds } from './apply-crds.ts';
import { borrowApiServer } from './borrowed-server.ts';

/** Options of starting a server. */
export interface StartOptions extends ApiServerOptions {
  /** CRDs that it serves from the start. */
  readonly crds?: readonly unknown[];
  /** One of its own, which can be restarted; default: one of the run's pool, where there is a pool and nothing but CRDs is asked for. */
  readonly own?: boolean;
}

let pool: string | undefined;

/** From now on servers come from the pool at this address where they can. */
export function useServerPool(address: string): void {
  pool = address;
}

/**
 * Starts etcd and kube-apiserver on free ports of this machine, in about 3 s and without root. Whatever way this process ends,
 * they end with it. Throws ServerStartError with the end of the log, or ToolsUnavailableError.
 */
export async function startApiServer({ crds = [], own = false, ...options }: StartOptions = {}): Promise<ApiServer> {
  if (pool !== undefined && !own && Object.keys(options).length === 0) return borrowApiServer(pool, crds);
  const server = await startOwnApiServer(options);
  try {
    if (crds.length > 0) await applyCrds(await server.client(), crds);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}
