import { FlotillaError, foreign } from '@flotilla/api';
import { Deployment } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';

const HubDeployment = foreign(
  z.looseObject({
    spec: z.looseObject({
      template: z.looseObject({
        spec: z.looseObject({
          containers: z.array(
            z.looseObject({ env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]) }),
          ),
        }),
      }),
    }),
  }),
);

/** Variable of the hub's Deployment with the puller's image. */
const VARIABLE = 'PRECACHE_IMAGE';

/**
 * Finds the puller's image: the one that was given, else that of the PreCachingConfig, else that of the hub.
 * @throws FlotillaError `FLOTILLA_CONFIG` where nothing says it
 */
export async function findPullerImage(
  client: Client,
  {
    given,
    configured,
    hubNamespace,
  }: { readonly given?: string | undefined; readonly configured?: string | undefined; readonly hubNamespace: string },
): Promise<string> {
  const wanted = given ?? configured?.trim();
  if (wanted) return wanted;
  const { items } = await client.list(Deployment, { namespace: hubNamespace, labelSelector: 'app.kubernetes.io/part-of=flotilla' });
  const variables = items.flatMap(
    (item) => HubDeployment.safeParse(item).data?.spec.template.spec.containers.flatMap(({ env }) => env) ?? [],
  );
  const image = variables.find(({ name }) => name === VARIABLE)?.value;
  if (image) return image;
  throw new FlotillaError(
    'FLOTILLA_CONFIG',
    `--puller-image is missing: no Deployment in namespace ${hubNamespace} says which image the hub uses; give it, or name the hub's namespace with --hub-namespace`,
  );
}
