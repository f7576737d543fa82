import { readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { ApiServer } from '@flotilla/control-plane/servers';
import { startHttpFront } from '@flotilla/control-plane/simulators';

/** Stands before an API server and passes everything on, but for what it is told to do with watches. */
export interface WatchRelay extends AsyncDisposable {
  /** Of the server, by way of the relay. */
  readonly kubeconfig: string;
  /** Ends every watch, and tells whoever comes back for one that its version is too old (410). Returns how many watches there were. */
  expireWatches(): number;
  /** Watches that were refused so. */
  refused(): number;
}

const EXPIRED = {
  type: 'ERROR',
  object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410, message: 'too old resource version' },
};

/** Starts a relay for one user of the server. It has the server's own certificate, so that nobody notices. */
export async function startWatchRelay(api: ApiServer, user: string): Promise<WatchRelay> {
  const [cert = '', key = ''] = await Promise.all(
    ['crt', 'key'].map((kind) => readFile(join(api.dir, `certificates/apiserver.${kind}`), 'utf8')),
  );
  const watches = new Map<ServerResponse, string>();
  const expired = new Set<string>();
  let refused = 0;
  const front = await startHttpFront(api.url, {
    tls: { cert, key },
    answers({ url = '' }, response) {
      const watch = watchedPath(url);
      if (watch === undefined) return false;
      if (expired.delete(watch)) {
        refused += 1;
        response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(EXPIRED)}\n`);
        return true;
      }
      watches.set(response, watch);
      response.on('close', () => watches.delete(response));
      return false;
    },
  });
  const kubeconfig = join(api.dir, `relayed-${user}.kubeconfig`);
  const direct = await readFile(await api.kubeconfigFor(user), 'utf8');
  await writeFile(kubeconfig, direct.replace(api.url, front.url), { mode: 0o600 });
  return {
    kubeconfig,
    refused: () => refused,
    expireWatches() {
      const open = [...watches];
      for (const [response, path] of open) {
        expired.add(path);
        response.destroy();
      }
      return open.length;
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}

/** What is watched: path and selectors, without the version; undefined when nothing is. */
function watchedPath(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'https://relay');
  if (searchParams.get('watch') !== 'true') return undefined;
  return [pathname, searchParams.get('labelSelector'), searchParams.get('fieldSelector')].join(' ');
}
