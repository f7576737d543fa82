import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';
import { spokeConditions, spokeStatus } from './spoke-status.ts';

/** One imperative operation on a spoke (spec/ocm 1.2). `actionType` is Create, Update or Delete; only the agent enforces that. */
const ManagedClusterActionSpec = z.looseObject({
  actionType: z.string().optional(),
  kube: z
    .looseObject({
      resource: z.string().optional(),
      name: z.string().optional(),
      namespace: z.string().optional(),
      template: z.looseObject({}).optional(),
    })
    .optional(),
});
const ActionSchema = KubeObject.extend({
  spec: ManagedClusterActionSpec.optional(),
  status: spokeStatus({ conditions: spokeConditions, result: z.unknown().optional() }),
});
/** Operation on a cluster, in the hub namespace of that cluster. */
export type ManagedClusterAction = z.output<typeof ActionSchema>;
export const ManagedClusterAction = resource(
  'action.open-cluster-management.io/v1beta1',
  'ManagedClusterAction',
  'managedclusteractions',
  true,
  ActionSchema,
);

/** Only condition type of an action, and its reasons (spec/ocm 1.3). */
export const ACTION_COMPLETED = 'Completed';
export const ActionReason = {
  done: 'ActionDone',
  createFailed: 'CreateResourceFailed',
  updateFailed: 'UpdateResourceFailed',
  deleteFailed: 'DeleteResourceFailed',
  typeInvalid: 'ActionTypeInvalid',
} as const;

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

const ViewSchema = KubeObject.extend({
  spec: z.looseObject({ scope: ViewScope.optional() }).optional(),
  status: spokeStatus({ conditions: spokeConditions, result: z.unknown().optional() }),
});
/** A polled read of one object on a spoke. */
export type ManagedClusterView = z.output<typeof ViewSchema>;
export const ManagedClusterView = resource(
  'view.open-cluster-management.io/v1beta1',
  'ManagedClusterView',
  'managedclusterviews',
  true,
  ViewSchema,
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
