/** Reads the objects that a move from TALM concerns, and writes nothing. */
import { foreign, type KubeObject, type Resource, refKey, untyped } from '@flotilla/api';
import { CustomResourceDefinition, Deployment } from '@flotilla/api/core';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import { findRefusal, isEnding, isRunning } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { listServed } from '../hub/connect.ts';
import { isByPolicies, observeIn, parseSpec, planHere, readFleet } from '../plan/read.ts';
import { MANAGER_NAME, type TalmHub } from './judge.ts';

const ImageBasedGroupUpgrade = untyped('lcm.openshift.io/v1alpha1', 'ImageBasedGroupUpgrade', 'imagebasedgroupupgrades');
const Upgrade = untyped(ClusterGroupUpgrade.apiVersion, ClusterGroupUpgrade.kind, ClusterGroupUpgrade.plural);

/** Reads a hub. Throws where a right is missing; a kind that the hub lacks has no objects. */
export async function readTalmHub(client: Client): Promise<TalmHub> {
  const list = async <T extends KubeObject>(kind: Resource<T>) => (await listServed(client, kind)) ?? [];
  const deployments = await list(Deployment);
  const upgrades = await list(Upgrade);
  return {
    managers: deployments.filter(({ metadata }) => metadata.name.startsWith(MANAGER_NAME)),
    upgrades,
    refusals: await findRefusals(client, upgrades),
    configs: await list(PreCachingConfig),
    groups: await list(ImageBasedGroupUpgrade),
    keepsOurStatus: keepsOurStatus(await client.get(CustomResourceDefinition, { name: 'clustergroupupgrades.ran.openshift.io' })),
  };
}

/** Upgrades that are looked at together. */
const AT_ONCE = 8;

/** Plans each upgrade that has not begun, as the hub would with its next look, and returns what it would hold it for. */
async function findRefusals(client: Client, upgrades: readonly KubeObject[]): Promise<TalmHub['refusals']> {
  const open = upgrades.flatMap((given) => {
    const upgrade = ClusterGroupUpgrade.schema.safeParse(given).data;
    const spec = upgrade && parseSpec(upgrade).spec;
    return spec && !isEnding(upgrade) && !isRunning(upgrade) ? [{ upgrade, spec }] : [];
  });
  if (open.length === 0) return new Map();
  const fleet = await readFleet(
    client,
    open.some(({ spec }) => isByPolicies(spec)),
  );
  const found = await mapConcurrently(open, AT_ONCE, async ({ upgrade, spec }) => {
    const refusal = findRefusal(planHere(await observeIn(fleet, client, { upgrade, configs: [], templates: [] }), spec));
    return refusal ? [[refKey(upgrade.metadata), refusal] as const] : [];
  });
  return new Map(found.flat());
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
