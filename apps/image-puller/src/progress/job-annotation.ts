import { Annotation } from '@flotilla/api';
import { Job } from '@flotilla/api/core';
import { SpokeName } from '@flotilla/api/ran';
import { type Client, createClient } from '@flotilla/runtime';

const USER_AGENT = 'flotilla-image-puller';

/**
 * Writes texts into an annotation of the puller's Job, which the hub reads anyway. It patches the status, because the puller must not touch the
 * spec.
 */
export function jobSink(
  client: Client,
  namespace: string,
  annotation: string = Annotation.progress,
): (text: string, signal: AbortSignal) => Promise<void> {
  return async (text, signal) => {
    const change = { metadata: { annotations: { [annotation]: text } } };
    await client.patch(Job, { namespace, name: SpokeName.job }, change, { type: 'merge', subresource: 'status', signal });
  };
}

/**
 * Connects to the pod's own cluster, or to a kubeconfig's.
 * @throws FlotillaError without either
 */
export const connectToCluster = (kubeconfigPath: string | undefined): Client => createClient({ kubeconfigPath, userAgent: USER_AGENT });
