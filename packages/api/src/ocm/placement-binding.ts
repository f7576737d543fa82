import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';

const Reference = z.looseObject({ apiGroup: z.string(), kind: z.string(), name: z.string() });

const Schema = KubeObject.extend({
  placementRef: Reference.optional(),
  subjects: z.array(Reference).nullish(),
  bindingOverrides: z.looseObject({ remediationAction: z.string().optional() }).nullish(),
  /** `restricted`, or absent. */
  subFilter: z.string().optional(),
});
/** Binds policies to the clusters of a Placement; its fields are at the top level, not under `spec` (spec/ocm 3.5). */
export type PlacementBinding = z.output<typeof Schema>;
export const PlacementBinding = resource('policy.open-cluster-management.io/v1', 'PlacementBinding', 'placementbindings', true, Schema);
