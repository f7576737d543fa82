import { FlotillaError } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, REFERENCE_OPERATOR, VERSION_NAMESPACE } from '@flotilla/api/config';
import { Deployment } from '@flotilla/api/core';
import { type Client, type Clock, isNotFound } from '@flotilla/runtime';
import { z } from 'zod';

/** A field manager that wrote so long ago is gone, milliseconds. */
const RECENT_MS = 5 * 60_000;
/** Label of a Deployment of that name that runs this operator. */
const OURS = 'flotilla.io/version-operator';

const Workload = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).optional() }),
  status: z.looseObject({ readyReplicas: z.number().optional() }).optional(),
});
const Managed = z.looseObject({
  metadata: z.looseObject({
    managedFields: z.array(z.looseObject({ manager: z.string().default(''), time: z.string().nullish() })).optional(),
  }),
});

/** How the reference operator shows on a cluster; undefined when it does not. */
export async function signOfReferenceOperator(client: Client, clock: Clock): Promise<string | undefined> {
  const deployment = await client.get(Deployment, { namespace: VERSION_NAMESPACE, name: REFERENCE_OPERATOR });
  const workload = deployment && Workload.parse(deployment);
  if (workload && (workload.status?.readyReplicas ?? 0) > 0 && workload.metadata.labels?.[OURS] !== 'true')
    return `Deployment ${VERSION_NAMESPACE}/${REFERENCE_OPERATOR} has ready replicas`;
  const version = await readVersion(client);
  const recent = version?.metadata.managedFields?.find(
    ({ manager, time }) => manager === REFERENCE_OPERATOR && time && clock.now() - Date.parse(time) < RECENT_MS,
  );
  return recent ? `field manager ${REFERENCE_OPERATOR} wrote ClusterVersion ${CLUSTER_VERSION_NAME} at ${recent.time}` : undefined;
}

async function readVersion(client: Client) {
  try {
    return Managed.parse(await client.request('GET', `/apis/config.openshift.io/v1/clusterversions/${CLUSTER_VERSION_NAME}`));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** @throws FlotillaError `FLOTILLA_REFERENCE_OPERATOR` where the reference operator runs: two would undo each other's work */
export async function refuseBesideReferenceOperator(client: Client, clock: Clock): Promise<void> {
  const sign = await signOfReferenceOperator(client, clock);
  if (sign === undefined) return;
  throw new FlotillaError(
    'FLOTILLA_REFERENCE_OPERATOR',
    `the reference version operator runs on this cluster: ${sign}; scale it to 0 and wait ${RECENT_MS / 60_000} minutes, or use --observe to see what would be done`,
  );
}
