import { Node, ServiceAccount } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { waitUntilReady } from '../../processes/readiness.ts';
import type { ServerProcess } from '../../processes/server-process.ts';

const Conditions = z.looseObject({
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) }),
});

/**
 * Ready, and the default service account there: from then on a pod can be created. Throws ServerStartError when one of `processes`
 * ended meanwhile: a node without kube-proxy is Ready, and its pods reach nothing.
 */
export async function waitForNode(client: Client, name: string, processes: readonly ServerProcess[]): Promise<void> {
  await waitUntilReady({
    what: `node ${name}`,
    processes,
    intervalMs: 100,
    async check() {
      const node = Conditions.safeParse(await client.get(Node, { name }));
      const isReady = node.data?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
      return Boolean(isReady && (await client.get(ServiceAccount, { namespace: 'default', name: 'default' })));
    },
  });
}
