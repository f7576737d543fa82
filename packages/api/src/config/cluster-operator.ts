import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';
import { readable, readableList } from '../readable.ts';
import { configConditions } from './conditions.ts';

/** Reached version of an operator: its own as `operator`, those of operands by name. */
export const OperandVersion = z.looseObject({ name: z.string(), version: z.string() });
export type OperandVersion = z.output<typeof OperandVersion>;

/** Object of an operator; an empty name means all of the resource. */
export const RelatedObject = z.looseObject({
  group: z.string(),
  resource: z.string(),
  namespace: z.string().optional(),
  name: z.string().default(''),
});
export type RelatedObject = z.output<typeof RelatedObject>;

/** Report of an operator. It is valid only as a whole; unreadable parts are absent. */
export const ClusterOperatorStatus = z.looseObject({
  conditions: configConditions,
  versions: readableList(OperandVersion, 256),
  relatedObjects: readableList(RelatedObject, 10_000),
  extension: z.unknown().optional(),
});
export type ClusterOperatorStatus = z.output<typeof ClusterOperatorStatus>;

const Schema = KubeObject.extend({ spec: readable(z.looseObject({})), status: readable(ClusterOperatorStatus) });
/** Health of an operator of the cluster (spec/cvo 6). Cluster-scoped. */
export type ClusterOperator = z.output<typeof Schema>;
export const ClusterOperator = resource('config.openshift.io/v1', 'ClusterOperator', 'clusteroperators', false, Schema);
