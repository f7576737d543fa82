import { z } from 'zod';
import { readable, readableList } from '../foreign.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { spokeStatus } from './spoke-status.ts';

/** One entry of a root policy's roll-up: JSON names are lower-case (spec/ocm 3.3). */
const CompliancePerCluster = z.looseObject({
  clustername: z.string(),
  clusternamespace: z.string().optional(),
  compliant: z.string().optional(),
});

/** Largest number of entries that are read: above any fleet. */
const MAX_CLUSTERS = 50_000;

const Schema = KubeObject.extend({
  spec: z
    .looseObject({
      disabled: z.boolean().optional(),
      remediationAction: z.string().optional(),
      dependencies: z.array(z.unknown()).nullish(),
      'policy-templates': z.array(z.unknown()).nullish(),
    })
    .optional(),
  status: spokeStatus({ compliant: readable(z.string()), status: readableList(CompliancePerCluster, MAX_CLUSTERS) }),
});
/** A policy of the policy framework, root or replicated (spec/ocm 3.1, 3.2). Its templates have a parser of their own. */
export type Policy = z.output<typeof Schema>;
export const Policy = resource('policy.open-cluster-management.io/v1', 'Policy', 'policies', true, Schema);

const Reference = z.looseObject({ apiGroup: z.string(), kind: z.string(), name: z.string() });

const BindingSchema = KubeObject.extend({
  placementRef: Reference.optional(),
  subjects: z.array(Reference).nullish(),
  bindingOverrides: z.looseObject({ remediationAction: z.string().optional() }).nullish(),
  /** `restricted`, or absent. */
  subFilter: z.string().optional(),
});
/** Binds policies to the clusters of a Placement; its fields are at the top level, not under `spec` (spec/ocm 3.5). */
export type PlacementBinding = z.output<typeof BindingSchema>;
export const PlacementBinding = resource(
  'policy.open-cluster-management.io/v1',
  'PlacementBinding',
  'placementbindings',
  true,
  BindingSchema,
);
