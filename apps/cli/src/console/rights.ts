/** Rights of the asker, as the API server says them: a missing one becomes a sentence, never an empty page. */

import type { KubeObject, Resource } from '@flotilla/api';
import type { Rights } from '@flotilla/api/answers';
import { Lease } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { lackOf } from '../complain.ts';
import type { View } from './rows/sources.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const Review = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });

/** Asks the API server what the asker may do. */
export async function askRights(client: Client, { namespace, hubNamespace }: View): Promise<Rights> {
  const lacks = async (kind: Resource<KubeObject>, verbs: readonly string[], within?: string): Promise<string | null> => {
    for (const verb of verbs)
      if (!(await isAllowed(client, kind, { verb, namespace: within }))) return lackOf({ verb, kind, namespace: within });
    return null;
  };
  const [upgrades, spokes, lease, steerUpgrades, steerSpokes] = await Promise.all([
    lacks(ClusterGroupUpgrade, ['list', 'watch'], namespace),
    lacks(ManagedCluster, ['list', 'watch']),
    lacks(Lease, ['list', 'watch'], hubNamespace),
    lacks(ClusterGroupUpgrade, ['patch'], namespace),
    lacks(ManagedCluster, ['patch']),
  ]);
  return { upgrades, spokes, lease, steerUpgrades, steerSpokes };
}

interface Wish {
  readonly verb: string;
  readonly namespace?: string | undefined;
}

async function isAllowed(client: Client, { apiVersion, plural }: Resource<KubeObject>, { verb, namespace }: Wish): Promise<boolean> {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb, group, resource: plural, ...(namespace !== undefined && { namespace }) } },
  };
  return Review.parse(await client.request('POST', REVIEWS, { body })).status.allowed;
}
