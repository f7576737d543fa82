import { z } from 'zod';
import { foreign, readable } from '../foreign.ts';
import { KubeObject, LabelSelector, ObjectMeta, type Resource, resource, untyped } from '../kubernetes.ts';

/** Built-in kinds the programs use. */
export const Namespace = untyped('v1', 'Namespace', 'namespaces', false);
export const ServiceAccount = untyped('v1', 'ServiceAccount', 'serviceaccounts');
export const Role = untyped('rbac.authorization.k8s.io/v1', 'Role', 'roles');
export const RoleBinding = untyped('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings');
export const ClusterRole = untyped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false);
export const ClusterRoleBinding = untyped('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', false);
export const Job = untyped('batch/v1', 'Job', 'jobs');
export const Deployment = untyped('apps/v1', 'Deployment', 'deployments');
export const CustomResourceDefinition = untyped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false);

const NodeSchema = KubeObject.extend({
  spec: readable(
    z.looseObject({
      unschedulable: z.boolean().optional(),
      taints: z.array(z.looseObject({ key: z.string(), effect: z.string(), timeAdded: z.string().nullish() })).nullish(),
    }),
  ),
  status: readable(z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish() })),
});
/** Used fields of a cluster's machine. */
export type Node = z.output<typeof NodeSchema>;
export const Node = resource('v1', 'Node', 'nodes', false, NodeSchema);

const PodSchema = KubeObject.extend({
  metadata: ObjectMeta.extend({ ownerReferences: readable(z.array(z.looseObject({ kind: z.string() }))) }),
  spec: readable(z.looseObject({ nodeName: z.string().optional() })),
});
/** Used fields of a pod. */
export type Pod = z.output<typeof PodSchema>;
export const Pod = resource('v1', 'Pod', 'pods', true, PodSchema);

const count = z.union([z.number(), z.string()]).nullish();
const DisruptionBudgetSchema = KubeObject.extend({
  spec: readable(z.looseObject({ selector: LabelSelector.nullish(), minAvailable: count, maxUnavailable: count })),
});
/** Bound of the pods that a drain may remove at once. */
export type PodDisruptionBudget = z.output<typeof DisruptionBudgetSchema>;
export const PodDisruptionBudget = resource('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', true, DisruptionBudgetSchema);

const AutoscalerSchema = KubeObject.extend({
  spec: readable(
    z.looseObject({ scaleTargetRef: z.looseObject({ apiVersion: z.string().nullish(), kind: z.string(), name: z.string() }) }),
  ),
});
/** Names an object whose replicas it sets. */
export type HorizontalPodAutoscaler = z.output<typeof AutoscalerSchema>;
export const HorizontalPodAutoscaler = resource(
  'autoscaling/v2',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
  true,
  AutoscalerSchema,
);

const ConfigMapSchema = KubeObject.extend({ data: z.record(z.string(), z.string()).nullish() });
/** Texts by key. */
export type ConfigMap = z.output<typeof ConfigMapSchema>;
export const ConfigMap = resource('v1', 'ConfigMap', 'configmaps', true, ConfigMapSchema);

const SecretSchema = KubeObject.extend({ data: z.record(z.string(), z.string()).nullish(), type: z.string().optional() });
/** Base64 by key. */
export type Secret = z.output<typeof SecretSchema>;
export const Secret = resource('v1', 'Secret', 'secrets', true, SecretSchema);

const LeaseSchema = KubeObject.extend({
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .optional(),
});
/** Holder and times of a leadership. */
export type Lease = z.output<typeof LeaseSchema>;
export const Lease = resource('coordination.k8s.io/v1', 'Lease', 'leases', true, LeaseSchema);

const ObjectReference = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
});
const EventSchema = KubeObject.extend({
  /** RFC 3339 with microseconds. */
  eventTime: z.string().nullish(),
  /** Normal or Warning. */
  type: z.string().optional(),
  reason: z.string().optional(),
  action: z.string().optional(),
  note: z.string().optional(),
  reportingController: z.string().optional(),
  reportingInstance: z.string().optional(),
  regarding: ObjectReference.optional(),
  related: ObjectReference.nullish(),
});
/** Event of the newer of the two events APIs. */
export type Event = z.output<typeof EventSchema>;
export const Event = resource('events.k8s.io/v1', 'Event', 'events', true, EventSchema);

/** An object that an event is about. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** Content of an event. */
export interface EventToRecord {
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase. */
  readonly reason: string;
  /** Action, in CamelCase. */
  readonly action: string;
  /** A sentence for people; cut at 1024 bytes. */
  readonly note: string;
  readonly regarding: EventSubject;
  readonly related?: EventSubject | undefined;
  /** Lists are joined by commas; the longest are cut when all together exceed 256 KiB. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** An object as events are about it; undefined for one that is gone. */
export function eventSubject(kind: Resource, object: KubeObject): EventSubject;
export function eventSubject(kind: Resource, object: KubeObject | undefined): EventSubject | undefined;
export function eventSubject({ apiVersion, kind }: Resource, object: KubeObject | undefined): EventSubject | undefined {
  if (!object) return undefined;
  const { namespace, name, uid, resourceVersion } = object.metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

const JobStatusSchema = z.looseObject({
  active: z.number().optional(),
  /** Number of active pods that run; absent before Kubernetes 1.24. */
  ready: z.number().nullish(),
  succeeded: z.number().optional(),
  failed: z.number().optional(),
  conditions: z
    .array(z.looseObject({ type: z.string(), status: z.string(), reason: z.string().optional(), message: z.string().optional() }))
    .nullish(),
});
/** `status` of a batch/v1 Job, as far as a verdict needs it. */
export type JobStatus = z.output<typeof JobStatusSchema>;
export const JobStatus = foreign(JobStatusSchema);
