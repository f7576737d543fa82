/** What a user can get wrong besides policies and templates: named in condition Validated with field, value and fix. Pure. */
import { Annotation } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { findEditProblem } from '../clusters/cluster-edits.ts';
import { findNameLabelProblem } from '../clusters/name-label.ts';
import { judgeWindow } from '../gates/window.ts';
import { type Validation, ValidationReason } from './validation.ts';

/** A watch of a kind that is not served looks again this often; so does whoever waits for it. */
const SERVED_AGAIN_MS = 30_000;

/** An upgrade by policies on a hub that has none. */
export function policyFrameworkMissing(standalone: boolean): Validation {
  const why = standalone
    ? 'this hub runs without the policy framework (--standalone)'
    : 'the API server does not serve Policy (policy.open-cluster-management.io/v1) and Placement (cluster.open-cluster-management.io/v1beta1)';
  return {
    status: 'False',
    reason: ValidationReason.frameworkMissing,
    message: `spec.managedPolicies cannot be remediated: ${why}; use spec.manifestWorkTemplates, or install the policy framework`,
    recheckAfterMs: SERVED_AGAIN_MS,
  };
}

/** The first thing that is wrong, or undefined. @param now milliseconds since the epoch */
export function validateInput(upgrade: ClusterGroupUpgrade, { actions }: ClusterGroupUpgradeSpec, now: number): Validation | undefined {
  const window = judgeWindow(upgrade, now);
  if (window.kind === 'invalid') return { status: 'False', reason: ValidationReason.window, message: window.message };
  const edits =
    findEditProblem(actions?.beforeEnable, 'spec.actions.beforeEnable') ??
    findEditProblem(actions?.afterCompletion, 'spec.actions.afterCompletion');
  if (edits !== undefined) return { status: 'False', reason: ValidationReason.actions, message: edits };
  const suffix = upgrade.metadata.annotations?.[Annotation.nameSuffix];
  if (suffix && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(suffix))
    return {
      status: 'False',
      reason: ValidationReason.nameSuffix,
      message: `Annotation ${Annotation.nameSuffix} is ${JSON.stringify(suffix)}; give it at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit`,
    };
  return undefined;
}

/** A PreCachingConfig of another namespace, where upgrades use those of their own alone. @param namespace of the upgrade */
export function validateConfigRef({ preCaching, preCachingConfigRef }: ClusterGroupUpgradeSpec, namespace: string): Validation | undefined {
  const wanted = preCachingConfigRef?.namespace;
  if (!preCaching || !wanted || wanted === namespace) return undefined;
  return {
    status: 'False',
    reason: ValidationReason.foreignConfig,
    message: `spec.preCachingConfigRef.namespace is ${JSON.stringify(wanted)}; upgrades of namespace ${namespace} use PreCachingConfigs of that namespace alone: create it there, and leave the field out`,
  };
}

/** Most clusters that a message names. */
const MOST_CLUSTERS = 10;

/** Clusters that no Placement would ever select, because their label `name` is another one's. @param clusters that are to be enforced */
export function validateNameLabels(clusters: ReadonlySet<string>, managed: readonly ManagedCluster[]): Validation | undefined {
  const problems = managed.flatMap((cluster) => {
    const { name } = cluster.metadata;
    return clusters.has(name) ? (findNameLabelProblem(name, cluster) ?? []) : [];
  });
  if (problems.length === 0) return undefined;
  const rest = problems.length - MOST_CLUSTERS;
  const message = `${problems.slice(0, MOST_CLUSTERS).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
  return { status: 'False', reason: ValidationReason.nameLabel, message };
}
