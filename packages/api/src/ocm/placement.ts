import { z } from 'zod';
import { readable } from '../foreign.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { spokeConditions, spokeStatus } from './spoke-status.ts';

const PLACEMENTS = 'cluster.open-cluster-management.io/v1beta1';

/** A label selector from a server, whose lists may be null. */
const Selector = z.looseObject({
  matchLabels: z.record(z.string(), z.string()).nullish(),
  matchExpressions: z.array(z.looseObject({ key: z.string(), operator: z.string(), values: z.array(z.string()).nullish() })).nullish(),
});

/** Selection of a Placement: predicates are ORed, the parts of one are ANDed (spec/ocm 2.4). */
export const PlacementSpec = z.looseObject({
  clusterSets: z.array(z.string()).nullish(),
  numberOfClusters: z.number().nullish(),
  predicates: z.array(z.looseObject({ requiredClusterSelector: z.looseObject({ labelSelector: Selector.nullish() }).nullish() })).nullish(),
  tolerations: z.array(z.looseObject({ key: z.string().optional(), operator: z.string().optional() })).nullish(),
});
export type PlacementSpec = z.output<typeof PlacementSpec>;

const PlacementSchema = KubeObject.extend({
  spec: PlacementSpec.optional(),
  status: spokeStatus({ numberOfSelectedClusters: readable(z.number()), conditions: spokeConditions }),
  /** When anything but its status was written last, milliseconds since the epoch; a watch notes it. */
  editedAt: z.number().optional(),
});
/** A choice of clusters (spec/ocm 2.4). */
export type Placement = z.output<typeof PlacementSchema>;
export const Placement = resource(PLACEMENTS, 'Placement', 'placements', true, PlacementSchema);

/** Condition type for a Placement that found clusters. */
export const PLACEMENT_SATISFIED = 'PlacementSatisfied';

const DecisionSchema = KubeObject.extend({
  status: z
    .looseObject({ decisions: z.array(z.looseObject({ clusterName: z.string(), reason: z.string().optional() })).nullish() })
    .nullish(),
});
/** At most 100 chosen clusters of a Placement; all decisions with its label together are the choice (spec/ocm 2.4). */
export type PlacementDecision = z.output<typeof DecisionSchema>;
export const PlacementDecision = resource(PLACEMENTS, 'PlacementDecision', 'placementdecisions', true, DecisionSchema);
