import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';
import { spokeConditions, spokeStatus } from './spoke-status.ts';

/** Object of a view (spec/ocm 1.8). */
export const ViewScope = z.looseObject({
  resource: z.string().optional(),
  apiGroup: z.string().optional(),
  version: z.string().optional(),
  kind: z.string().optional(),
  name: z.string().optional(),
  namespace: z.string().optional(),
  updateIntervalSeconds: z.number().optional(),
});
export type ViewScope = z.output<typeof ViewScope>;

const Schema = KubeObject.extend({
  spec: z.looseObject({ scope: ViewScope.optional() }).optional(),
  status: spokeStatus({ conditions: spokeConditions, result: z.unknown().optional() }),
});
/** A polled read of one object on a spoke. */
export type ManagedClusterView = z.output<typeof Schema>;
export const ManagedClusterView = resource(
  'view.open-cluster-management.io/v1beta1',
  'ManagedClusterView',
  'managedclusterviews',
  true,
  Schema,
);

/** Only condition type of a view, and its reasons (spec/ocm 1.10). */
export const VIEW_PROCESSING = 'Processing';
export const ViewReason = {
  getting: 'GetResourceProcessing',
  nameInvalid: 'ResourceNameInvalid',
  typeInvalid: 'ResourceTypeInvalid',
  gvkInvalid: 'ResourceGVKInvalid',
  getFailed: 'GetResourceFailed',
} as const;
