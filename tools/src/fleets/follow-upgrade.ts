import type { Ref } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { type FollowOptions, followObject } from './follow-object.ts';

/** Watches a ClusterGroupUpgrade until what is waited for has come. Throws `FLOTILLA_DEMO_TIMEOUT` with its conditions when it does not. */
export function followUpgrade(
  client: Client,
  ref: Required<Ref>,
  { explain, ...options }: FollowOptions<ClusterGroupUpgrade>,
): Promise<ClusterGroupUpgrade> {
  const explainAll = (upgrade: ClusterGroupUpgrade | undefined): string => {
    const conditions = (upgrade?.status?.conditions ?? []).map(({ type, status, message }) => `${type}=${status}: ${message}`);
    return `${explain(upgrade)}: ${conditions.join('; ')}`;
  };
  return followObject(client, ClusterGroupUpgrade, ref, { ...options, explain: explainAll });
}
