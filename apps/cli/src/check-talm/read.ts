/** Reads the objects that a move from TALM concerns, and writes nothing. */
import { foreign, type KubeObject, type Resource, untyped } from '@flotilla/api';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { listServed } from '../hub/list-served.ts';
import { MANAGER_NAME, type TalmHub } from './judge.ts';

const Deployment = untyped('apps/v1', 'Deployment', 'deployments');
const ImageBasedGroupUpgrade = untyped('lcm.openshift.io/v1alpha1', 'ImageBasedGroupUpgrade', 'imagebasedgroupupgrades');
const Upgrade = untyped(ClusterGroupUpgrade.apiVersion, ClusterGroupUpgrade.kind, ClusterGroupUpgrade.plural);
const Definition = untyped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false);

/** Reads a hub. Throws where a right is missing; a kind that the hub lacks has no objects. */
export async function readTalmHub(client: Client): Promise<TalmHub> {
  const list = async <T extends KubeObject>(kind: Resource<T>) => (await listServed(client, kind)) ?? [];
  const deployments = await list(Deployment);
  return {
    managers: deployments.filter(({ metadata }) => metadata.name.startsWith(MANAGER_NAME)),
    upgrades: await list(Upgrade),
    configs: await list(PreCachingConfig),
    groups: await list(ImageBasedGroupUpgrade),
    keepsOurStatus: keepsOurStatus(await client.get(Definition, { name: 'clustergroupupgrades.ran.openshift.io' })),
  };
}

/** The one part of a CRD that is read: the fields of the status. */
const Served = foreign(
  z.object({
    spec: z.object({
      versions: z.array(
        z.object({
          schema: z.object({
            openAPIV3Schema: z.object({
              properties: z.object({ status: z.object({ properties: z.record(z.string(), z.unknown()).default({}) }) }),
            }),
          }),
        }),
      ),
    }),
  }),
);

/** A hub without the CRD has no upgrades either. */
function keepsOurStatus(definition: KubeObject | undefined): boolean {
  const served = Served.safeParse(definition).data?.spec.versions ?? [];
  return served.some(({ schema }) => 'waits' in schema.openAPIV3Schema.properties.status.properties);
}
