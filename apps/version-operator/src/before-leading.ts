import { FlotillaError, KubeObject, managedFieldsOf, readable } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion, REFERENCE_OPERATOR, VERSION_NAMESPACE } from '@flotilla/api/config';
import { Deployment, Namespace } from '@flotilla/api/core';
import { type Client, type Clock, createMissing } from '@flotilla/runtime';
import { z } from 'zod';

/** A field manager that wrote so long ago is gone, milliseconds. */
const RECENT_MS = 5 * 60_000;
/** Label of a Deployment of that name that runs this operator. */
const OURS = 'flotilla.io/version-operator';

const Status = readable(z.looseObject({ readyReplicas: z.number().optional() }));

/** Finds a sign that the reference operator runs on the cluster; undefined without one. */
export async function signOfReferenceOperator(client: Client, clock: Clock): Promise<string | undefined> {
  const deployment = await client.get(Deployment, { namespace: VERSION_NAMESPACE, name: REFERENCE_OPERATOR });
  if ((Status.parse(deployment?.status)?.readyReplicas ?? 0) > 0 && deployment?.metadata.labels?.[OURS] !== 'true')
    return `Deployment ${VERSION_NAMESPACE}/${REFERENCE_OPERATOR} has ready replicas`;
  const version = await client.get<KubeObject>({ ...ClusterVersion, schema: KubeObject }, { name: CLUSTER_VERSION_NAME });
  const recent = (version ? managedFieldsOf(version.metadata) : []).find(
    ({ manager, time }) => manager === REFERENCE_OPERATOR && time && clock.now() - Date.parse(time) < RECENT_MS,
  );
  return recent && `field manager ${REFERENCE_OPERATOR} wrote ClusterVersion ${CLUSTER_VERSION_NAME} at ${recent.time}`;
}

/**
 * Makes the namespace of the lease, which lies in it before any release brings it.
 * @throws FlotillaError `FLOTILLA_REFERENCE_OPERATOR` where the reference operator runs: two would undo each other's work
 */
export async function prepareToLead(client: Client, clock: Clock): Promise<void> {
  const sign = await signOfReferenceOperator(client, clock);
  if (sign !== undefined)
    throw new FlotillaError(
      'FLOTILLA_REFERENCE_OPERATOR',
      `the reference version operator runs on this cluster: ${sign}; scale it to 0 and wait ${RECENT_MS / 60_000} minutes, or use --observe to see what would be done`,
    );
  if (await client.get(Namespace, { name: VERSION_NAMESPACE })) return;
  await createMissing(client, Namespace, { metadata: { name: VERSION_NAMESPACE } });
}
