/** The actions and views of a pre-cache, as the hub creates them in a spoke's namespace (spec/talm 3.5). Pure. */
import { createHash } from 'node:crypto';
import {
  type KubeObject,
  Label,
  ManagedClusterAction,
  ManagedClusterView,
  PrecacheAction,
  PrecacheView,
  SpokeName,
  type ViewScope,
} from '@flotilla/api';
import type { SpokeManifest } from './manifests.ts';

/** The upgrade an object belongs to. */
export interface UpgradeIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Value of `flotilla.io/work` on everything a pre-cache creates on the hub. */
export const PRECACHE_WORK = 'precache';

/** Annotations that carry what a later step must know of an action without reading its template. */
export const ActionAnnotation = {
  /** Digest of the template, to see whether the spec changed since. */
  template: 'flotilla.io/template',
  /** How often the action was created anew after a failure. */
  retries: 'flotilla.io/retries',
  /** On deletions: `before` or `after` the workload. */
  deletes: 'flotilla.io/deletes',
} as const;

/** Whether a deletion removes what an earlier attempt left, or what this one leaves. */
export type DeletionTime = 'before' | 'after';

const labels = (upgrade: UpgradeIdentity) => ({
  [Label.upgradeName]: upgrade.name,
  [Label.upgradeNamespace]: upgrade.namespace,
  [Label.upgradeUid]: upgrade.uid,
  [Label.work]: PRECACHE_WORK,
});

/** Selector of everything a pre-cache of this upgrade created on the hub. */
export const upgradeSelector = (uid: string): string => `${Label.work}=${PRECACHE_WORK},${Label.upgradeUid}=${uid}`;

/** First 16 hex digits of a template's SHA-256. */
export const templateDigest = (template: unknown): string =>
  createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 16);

/** The action that creates one object on the spoke. */
export function createAction(upgrade: UpgradeIdentity, cluster: string, manifest: SpokeManifest, retries = 0): KubeObject {
  return {
    apiVersion: ManagedClusterAction.apiVersion,
    kind: ManagedClusterAction.kind,
    metadata: {
      name: manifest.action,
      namespace: cluster,
      labels: labels(upgrade),
      annotations: {
        [ActionAnnotation.template]: templateDigest(manifest.template),
        ...(retries > 0 && { [ActionAnnotation.retries]: String(retries) }),
      },
    },
    spec: {
      actionType: 'Create',
      kube: {
        resource: createdResource[manifest.action],
        ...(manifest.action === PrecacheAction.createJob && { namespace: SpokeName.namespace }),
        template: manifest.template,
      },
    },
  };
}

const createdResource: Partial<Record<PrecacheAction, string>> = {
  [PrecacheAction.createNamespace]: 'namespace',
  [PrecacheAction.createServiceAccount]: 'serviceaccount',
  [PrecacheAction.createClusterRoleBinding]: 'clusterrolebinding',
  [PrecacheAction.createRole]: 'role',
  [PrecacheAction.createRoleBinding]: 'rolebinding',
  [PrecacheAction.createSpecConfigMap]: 'configmap',
  [PrecacheAction.createJob]: 'job',
};

/** The action that deletes the pre-cache namespace, or the reference's ClusterRoleBinding, from the spoke. */
export function deleteAction(
  upgrade: UpgradeIdentity,
  cluster: string,
  name: PrecacheAction,
  { when, retries = 0 }: { readonly when: DeletionTime; readonly retries?: number },
): KubeObject {
  const kube =
    name === PrecacheAction.deleteClusterRoleBinding
      ? { resource: 'clusterrolebinding', name: SpokeName.clusterRoleBinding }
      : { resource: 'namespace', name: SpokeName.namespace };
  return {
    apiVersion: ManagedClusterAction.apiVersion,
    kind: ManagedClusterAction.kind,
    metadata: {
      name,
      namespace: cluster,
      labels: labels(upgrade),
      annotations: { [ActionAnnotation.deletes]: when, ...(retries > 0 && { [ActionAnnotation.retries]: String(retries) }) },
    },
    spec: { actionType: 'Delete', kube },
  };
}

const scopes: Partial<Record<PrecacheView, ViewScope>> = {
  [PrecacheView.namespace]: { resource: 'namespaces', name: SpokeName.namespace },
  [PrecacheView.job]: { resource: 'jobs', name: SpokeName.job, namespace: SpokeName.namespace },
  [PrecacheView.progress]: { resource: 'configmap', name: SpokeName.progressConfigMap, namespace: SpokeName.namespace },
};

/** Kind and identity each view asks for; an answer about anything else is no answer. */
export const viewTarget: Record<'namespace' | 'job' | 'progress', { kind: string; name: string; namespace?: string }> = {
  namespace: { kind: 'Namespace', name: SpokeName.namespace },
  job: { kind: 'Job', name: SpokeName.job, namespace: SpokeName.namespace },
  progress: { kind: 'ConfigMap', name: SpokeName.progressConfigMap, namespace: SpokeName.namespace },
};

/** A view, polled by the spoke's agent every `intervalSeconds` (0: the agent's default of 30). */
export function createView(upgrade: UpgradeIdentity, cluster: string, name: PrecacheView, intervalSeconds: number): KubeObject {
  return {
    apiVersion: ManagedClusterView.apiVersion,
    kind: ManagedClusterView.kind,
    metadata: { name, namespace: cluster, labels: labels(upgrade) },
    spec: { scope: { ...scopes[name], ...(intervalSeconds > 0 && { updateIntervalSeconds: intervalSeconds }) } },
  };
}
