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
const Schema = KubeObject.extend({
  spec: ManagedClusterActionSpec.optional(),
  status: spokeStatus({ conditions: spokeConditions, result: z.unknown().optional() }),
});
/** Operation on a cluster, in the hub namespace of that cluster. */
export type ManagedClusterAction = z.output<typeof Schema>;
export const ManagedClusterAction = resource(
  'action.open-cluster-management.io/v1beta1',
  'ManagedClusterAction',
  'managedclusteractions',
  true,
  Schema,
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
