import { ConfigMap } from '@flotilla/api/core';
import { SpokeName } from '@flotilla/api/ran';
import { type Client, createClient } from '@flotilla/runtime';

/** Key of the report in the ConfigMap. */
const KEY = 'progress';
const FIELD_MANAGER = 'flotilla-image-puller';

/** Writes reports to ConfigMap `pre-cache-progress` with server-side apply: no read, no conflict, created when absent. */
export function configMapSink(client: Client, namespace: string): (text: string, signal: AbortSignal) => Promise<void> {
  const metadata = { name: SpokeName.progressConfigMap, namespace };
  return async (text, signal) => {
    const object = { apiVersion: ConfigMap.apiVersion, kind: ConfigMap.kind, metadata, data: { [KEY]: text } };
    await client.apply(ConfigMap, object, { fieldManager: FIELD_MANAGER, force: true, signal });
  };
}

/** A client for the cluster the pod runs in, or for a kubeconfig. @throws FlotillaError when there is neither */
export const connectToCluster = (kubeconfigPath: string | undefined): Client => createClient({ kubeconfigPath, userAgent: FIELD_MANAGER });
