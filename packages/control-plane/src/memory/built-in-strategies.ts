import { isJsonObject } from '@flotilla/api';
import { forbidden, invalid, type NamedKind } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** Rules of a kind beyond its schema. */
export interface Strategy {
  /** `metadata.generation` counts changes of what is wanted. */
  readonly countsGenerations?: boolean;
  /** A PUT has to carry a resourceVersion. */
  readonly needsVersion?: boolean;
  /** A PUT creates an object that is not there. */
  readonly createsOnUpdate?: boolean;
  /** Names are one segment of a path, and no DNS name. */
  readonly hasPathNames?: boolean;
  /** Names have no dots. */
  readonly hasLabelNames?: boolean;
  /** Parts of metadata that a write of the status changes too; those of other kinds it leaves. */
  readonly statusTakes?: readonly ('labels' | 'annotations' | 'finalizers')[];
  /** A status that comes with a create is stored. */
  readonly keepsStatus?: boolean;
  /** Stays for its grace period when it is deleted, until that is 0. */
  readonly gracePeriodSeconds?: (object: Json) => number;
  readonly selectableFields?: readonly string[];
  /** Completes an object as the server stores it; `old` is absent for a new one. */
  readonly complete?: (object: Json, old?: Json) => Json;
  /** Refuses a change. */
  readonly check?: (kind: NamedKind, object: Json, old?: Json) => void;
}

/** Rules of most built-in kinds. */
export const BUILT_IN: Strategy = {};

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((part, key) => (isJsonObject(part) ? part[key] : undefined), value);
const objectAt = (value: unknown, ...path: readonly string[]): Json => {
  const found = at(value, ...path);
  return isJsonObject(found) ? found : {};
};

const nameOf = (object: Json): string => {
  const name = at(object, 'metadata', 'name');
  return typeof name === 'string' ? name : '';
};

function completeNamespace(object: Json, old?: Json): Json {
  const metadata = objectAt(object, 'metadata');
  const labels = { ...objectAt(metadata, 'labels'), 'kubernetes.io/metadata.name': nameOf(object) };
  const spec = old ? old.spec : { finalizers: ['kubernetes'] };
  return { ...object, metadata: { ...metadata, labels }, spec, ...(old === undefined && { status: { phase: 'Active' } }) };
}

const completeSecret = (object: Json): Json => {
  const { stringData, ...rest } = object;
  const texts = Object.entries(isJsonObject(stringData) ? stringData : {});
  const encoded = Object.fromEntries(texts.map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]));
  const data = texts.length > 0 ? { ...objectAt(object, 'data'), ...encoded } : object.data;
  return { ...rest, ...(data !== undefined && { data }), type: object.type ?? 'Opaque' };
};

/** Data of an immutable ConfigMap or Secret stay. */
function checkImmutable(kind: NamedKind, object: Json, old?: Json): void {
  if (old?.immutable !== true) return;
  const same = (key: string): boolean => JSON.stringify(object[key]) === JSON.stringify(old[key]);
  const message = 'Forbidden: field is immutable when `immutable` is set';
  const changed = [...(object.immutable === true ? [] : ['immutable']), ...['data', 'binaryData'].filter((key) => !same(key))];
  const causes = changed.map((field) => ({ field, reason: 'FieldValueForbidden', message }));
  if (causes.length > 0) throw invalid(kind, nameOf(object), causes);
}

function checkNamespaceDeletion(kind: NamedKind, name: string): void {
  if (name === 'default' || name.startsWith('kube-')) throw forbidden(kind, name, 'this namespace may not be deleted');
}

const completeBinding = (object: Json): Json => {
  const subjects = Array.isArray(object.subjects) ? object.subjects.filter(isJsonObject) : undefined;
  const roleRef = objectAt(object, 'roleRef');
  return {
    ...object,
    ...(subjects && {
      subjects: subjects.map((subject) =>
        subject.apiGroup === undefined && subject.kind !== 'ServiceAccount'
          ? { ...subject, apiGroup: 'rbac.authorization.k8s.io' }
          : subject,
      ),
    }),
    ...(Object.keys(roleRef).length > 0 && { roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...roleRef } }),
  };
};

function checkBinding(kind: NamedKind, object: Json, old?: Json): void {
  if (!old || JSON.stringify(old.roleRef) === JSON.stringify(object.roleRef)) return;
  const { apiGroup, kind: role, name } = objectAt(object, 'roleRef');
  const value = JSON.stringify({ APIGroup: apiGroup, Kind: role, Name: name });
  throw invalid(kind, nameOf(object), [
    { field: 'roleRef', reason: 'FieldValueInvalid', message: `Invalid value: ${value}: cannot change roleRef` },
  ]);
}

const rbac: Strategy = { hasPathNames: true };
const binding: Strategy = { ...rbac, complete: completeBinding, check: checkBinding };
const workload: Strategy = { countsGenerations: true, statusTakes: ['annotations', 'finalizers'] };
const pod: Strategy = {
  countsGenerations: true,
  statusTakes: ['labels', 'annotations', 'finalizers'],
  selectableFields: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'status.phase',
    'status.podIP',
  ],
  complete: (object, old) => (old ? object : { ...object, status: { phase: 'Pending', qosClass: 'BestEffort' } }),
  gracePeriodSeconds: (object) => {
    if (at(object, 'spec', 'nodeName') === undefined) return 0;
    return Number(at(object, 'spec', 'terminationGracePeriodSeconds') ?? 30);
  },
};

const STRATEGIES: Readonly<Record<string, Strategy>> = {
  '/ConfigMap': { check: checkImmutable },
  '/Secret': { complete: completeSecret, check: checkImmutable, selectableFields: ['type'] },
  '/Namespace': {
    hasLabelNames: true,
    complete: completeNamespace,
    statusTakes: ['labels', 'annotations'],
    selectableFields: ['status.phase'],
  },
  '/Node': { keepsStatus: true, statusTakes: ['labels', 'annotations', 'finalizers'], selectableFields: ['spec.unschedulable'] },
  '/Pod': pod,
  '/Event': {
    createsOnUpdate: true,
    selectableFields: ['involvedObject.kind', 'involvedObject.namespace', 'involvedObject.name', 'involvedObject.uid', 'reason', 'type'],
  },
  'events.k8s.io/Event': {
    createsOnUpdate: true,
    selectableFields: ['regarding.kind', 'regarding.namespace', 'regarding.name', 'regarding.uid', 'reason', 'type'],
  },
  'coordination.k8s.io/Lease': { createsOnUpdate: true },
  'apps/Deployment': workload,
  'apps/DaemonSet': workload,
  'apps/StatefulSet': workload,
  'apps/ReplicaSet': workload,
  'batch/Job': { ...workload, selectableFields: ['status.successful'] },
  'batch/CronJob': workload,
  'policy/PodDisruptionBudget': workload,
  'rbac.authorization.k8s.io/Role': rbac,
  'rbac.authorization.k8s.io/ClusterRole': rbac,
  'rbac.authorization.k8s.io/RoleBinding': binding,
  'rbac.authorization.k8s.io/ClusterRoleBinding': binding,
  'apiextensions.k8s.io/CustomResourceDefinition': { countsGenerations: true },
};

/** Rules of a built-in kind. */
export const strategyOf = (group: string, kind: string): Strategy => STRATEGIES[`${group}/${kind}`] ?? BUILT_IN;

/** Refuses the deletion of what no server lets go. */
export function checkDeletion(kind: NamedKind, name: string): void {
  if (kind.group === '' && kind.kind === 'Namespace') checkNamespaceDeletion(kind, name);
}
