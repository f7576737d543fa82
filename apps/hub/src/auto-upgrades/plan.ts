import { Annotation, type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { isEnforced, parentName } from '@flotilla/rollout';
import { AUTO_NAMESPACE, type ObservedCluster } from './observe.ts';

/** Task for one cluster. */
export type ClusterPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'create'; readonly upgrade: KubeObject }
  /** A policy's wave is malformed, so the order of policies is unknown. */
  | { readonly kind: 'refuse'; readonly policy: string; readonly wave: string }
  /** A policy may be yet to come. */
  | { readonly kind: 'wait'; readonly for: NonNullable<ObservedCluster['awaited']> };

/** Plans an upgrade over the cluster's policies, in the order of their waves, for an available cluster without one. Pure. */
export function planCluster(observed: ObservedCluster): ClusterPlan {
  const { cluster, isAvailable, isDone, hasUpgrade, servesPolicies } = observed;
  if (!servesPolicies || isDone || hasUpgrade || !isAvailable) return { kind: 'nothing' };
  const waves: { readonly policy: string; readonly wave: number }[] = [];
  for (const child of observed.policies) {
    const wave = child.metadata.annotations?.[Annotation.deployWave];
    // Enforcing policies need no upgrade.
    if (wave === undefined || isEnforced(child)) continue;
    if (!/^[+-]?\d+$/.test(wave)) return { kind: 'refuse', policy: child.metadata.name, wave };
    waves.push({ policy: parentName(child), wave: Number(wave) });
  }
  if (observed.awaited) return { kind: 'wait', for: observed.awaited };
  const inOrder = waves.toSorted((a, b) => a.wave - b.wave || (a.policy < b.policy ? -1 : 1));
  return {
    kind: 'create',
    upgrade: firstUpgrade(
      cluster,
      inOrder.map(({ policy }) => policy),
    ),
  };
}

/** Builds the upgrade of a newly imported cluster, as the reference does (spec/talm 5.2). Its owner reference deletes it with the cluster. */
function firstUpgrade({ metadata: { name, uid } }: ManagedCluster, managedPolicies: readonly string[]): KubeObject {
  const { apiVersion, kind } = ManagedCluster;
  return {
    apiVersion: ClusterGroupUpgrade.apiVersion,
    kind: ClusterGroupUpgrade.kind,
    metadata: {
      name,
      namespace: AUTO_NAMESPACE,
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      enable: true,
      clusters: [name],
      remediationStrategy: { maxConcurrency: 1 },
      managedPolicies: [...managedPolicies],
      actions: {
        beforeEnable: { addClusterLabels: { [Label.ztpRunning]: '' } },
        afterCompletion: { addClusterLabels: { [Label.ztpDone]: '' }, removeClusterLabels: [Label.ztpRunning] },
      },
    },
  };
}
