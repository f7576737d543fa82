import { FIELD_MANAGER, FlotillaError, findCondition, foreign, KubeObject } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { clusterSetCrds, transportCrds } from '@flotilla/api/ocm';
import { ranCrds } from '@flotilla/api/ran';
import type { Client, Logger } from '@flotilla/runtime';
import { z } from 'zod';

const CrdStatus = foreign(
  z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish() }).nullish(),
);

/** Applies our CRDs, and those of transport and cluster sets on request; waits until each is served (at most 30 s). */
export async function installCrds(
  client: Client,
  options: { readonly transport: boolean; readonly clusterSets: boolean },
  logger: Logger,
): Promise<void> {
  for (const crd of [...ranCrds(), ...(options.transport ? transportCrds() : []), ...(options.clusterSets ? clusterSetCrds() : [])]) {
    const object = KubeObject.parse(crd);
    await client.apply(CustomResourceDefinition, object, { fieldManager: FIELD_MANAGER, force: true });
    await untilEstablished(client, object.metadata.name);
    logger.info({ crd: object.metadata.name }, 'Installed CRD');
  }
}

async function untilEstablished(client: Client, name: string): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  const established = (object: KubeObject | undefined) => {
    const conditions = CrdStatus.safeParse(object?.status).data?.conditions ?? [];
    return findCondition(conditions, 'Established')?.status === 'True';
  };
  const { items, resourceVersion } = await client.list(CustomResourceDefinition, { fieldSelector: `metadata.name=${name}`, signal });
  if (established(items[0])) return;
  for await (const event of client.watch(CustomResourceDefinition, { fieldSelector: `metadata.name=${name}`, resourceVersion, signal }))
    if (event.type !== 'BOOKMARK' && established(event.object)) return;
  throw new FlotillaError(
    'FLOTILLA_CRD_NOT_SERVED',
    `CustomResourceDefinition ${name} was applied but is not served after 30 s; see its conditions`,
  );
}
