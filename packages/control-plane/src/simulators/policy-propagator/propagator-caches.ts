import { Label, refKey } from '@flotilla/api';
import { ManagedCluster, Placement, PlacementBinding, PlacementDecision, Policy } from '@flotilla/api/ocm';
import { type Client, type Clock, type Logger, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';
import { keyOfChild, leanChild } from './policy-replication.ts';

/** Index names. */
export const BY_PLACEMENT = 'placement';
export const BY_POLICY = 'policy';

const Owners = z.array(z.looseObject({ kind: z.string(), name: z.string() }));

/** The watches of a propagator. */
export function createPropagatorCaches(client: Client, shared: { logger?: Logger; clock?: Clock }) {
  return {
    clusters: new WatchCache(client, ManagedCluster, shared),
    placements: new WatchCache(client, Placement, shared),
    decisions: new WatchCache(client, PlacementDecision, { ...shared, indexes: { [BY_PLACEMENT]: (each) => placementOfDecision(each) } }),
    bindings: new WatchCache(client, PlacementBinding, {
      ...shared,
      indexes: { [BY_PLACEMENT]: placementOfBinding, [BY_POLICY]: policiesOf },
    }),
    roots: new WatchCache(client, Policy, { ...shared, labelSelector: `!${Label.rootPolicy}` }),
    children: new WatchCache(client, Policy, {
      ...shared,
      labelSelector: Label.rootPolicy,
      transform: leanChild,
      indexes: { [BY_POLICY]: (child) => [keyOfChild(child)] },
    }),
  };
}

/** Everything that the propagator watches. */
export type PropagatorCaches = ReturnType<typeof createPropagatorCaches>;

/** By owner, which decisions that somebody else wrote have too. */
export function placementOfDecision({ metadata }: PlacementDecision): string[] {
  const owners = Owners.safeParse(metadata.ownerReferences);
  const owner = owners.data?.find(({ kind }) => kind === Placement.kind);
  return owner ? [refKey({ namespace: metadata.namespace, name: owner.name })] : [];
}

/** Key of the Placement a binding refers to. */
export function placementOfBinding({ metadata, placementRef }: PlacementBinding): string[] {
  return placementRef?.kind === Placement.kind ? [refKey({ namespace: metadata.namespace, name: placementRef.name })] : [];
}

/** Keys of the policies a binding binds. */
export function policiesOf({ metadata, subjects }: PlacementBinding): string[] {
  const policies = (subjects ?? []).filter(({ kind }) => kind === Policy.kind);
  return policies.map(({ name }) => refKey({ namespace: metadata.namespace, name }));
}
