/** Checks a user's input besides policies and templates; condition Validated names field, value and fix. Pure. */
import { Annotation } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeSpec,
  type ConditionReason,
  explain,
  type PreCachingConfig,
} from '@flotilla/api/ran';
import { findEditProblem } from '../clusters/cluster-edits.ts';
import { findNameLabelProblem } from '../clusters/managed-cluster.ts';
import type { Tenancy } from '../clusters/tenancy.ts';
import { findAnnotationProblem, refuseStrictWaves } from '../gates/upgrade-annotations.ts';
import { judgeWindow } from '../gates/window.ts';
import { findUnknownAnnotation, findUnknownConfigAnnotation } from '../upgrade/annotations.ts';
import type { Validation } from './validation.ts';

/** A watch of a kind that is not served looks again this often; so does whoever waits for it. */
export const SERVED_AGAIN_MS = 30_000;

const invalid = (reason: ConditionReason, message: string): Validation => ({ status: 'False', reason, message });
const refuse = (reason: ConditionReason, problem: string): Validation => invalid(reason, explain(reason, problem));

/** An upgrade by policies on a hub that has none. */
export function policyFrameworkMissing(standalone: boolean): Validation {
  const why = standalone
    ? 'this hub runs without the policy framework (--standalone)'
    : 'the API server does not serve Policy (policy.open-cluster-management.io/v1), Placement and PlacementDecision (cluster.open-cluster-management.io/v1beta1)';
  return {
    ...refuse('PolicyFrameworkMissing', `spec.managedPolicies cannot be remediated: ${why}`),
    recheckAfterMs: SERVED_AGAIN_MS,
  };
}

/** The first thing that is wrong, or undefined. @param now milliseconds since the epoch */
export function validateInput(
  upgrade: ClusterGroupUpgrade,
  { actions }: ClusterGroupUpgradeSpec,
  now: number,
  tenancy?: Pick<Tenancy, 'decidingLabels'>,
): Validation | undefined {
  const window = judgeWindow(upgrade, now);
  if (window.kind === 'invalid') return invalid('InvalidWindow', window.message);
  const edits =
    findEditProblem(actions?.beforeEnable, 'spec.actions.beforeEnable', tenancy?.decidingLabels) ??
    findEditProblem(actions?.afterCompletion, 'spec.actions.afterCompletion', tenancy?.decidingLabels);
  if (edits !== undefined) return refuse('InvalidActions', edits);
  const suffix = upgrade.metadata.annotations?.[Annotation.nameSuffix];
  if (suffix && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(suffix))
    return refuse('InvalidNameSuffix', `Annotation ${Annotation.nameSuffix} is ${JSON.stringify(suffix)}`);
  return undefined;
}

/** Annotations that this hub does not read, of the upgrade and of the PreCachingConfig that it uses. */
export function validateAnnotations(
  upgrade: ClusterGroupUpgrade,
  { preCaching }: ClusterGroupUpgradeSpec,
  config: PreCachingConfig | undefined,
  areProofsKept?: boolean,
): Validation | undefined {
  const unknown = findUnknownAnnotation(upgrade) ?? (preCaching && config ? findUnknownConfigAnnotation(config) : undefined);
  if (unknown !== undefined) return invalid('UnknownAnnotation', unknown);
  const problem = findAnnotationProblem(upgrade, areProofsKept);
  // The CRD may be replaced meanwhile.
  return problem && { status: 'False', ...problem, ...(problem.reason === 'ProofsDropped' && { recheckAfterMs: SERVED_AGAIN_MS }) };
}

/** Refuses annotations of waves on a hub that decides as the reference does: batches depend on them, and it would ignore them in silence. */
export function validateStrict(upgrade: ClusterGroupUpgrade): Validation | undefined {
  const waves = refuseStrictWaves(upgrade);
  return waves === undefined ? undefined : invalid('InvalidWaves', waves);
}

/** A spec that asks for nothing, which the reference ends as a success. Edits of ManagedClusters alone are something. */
export function validateWork(spec: ClusterGroupUpgradeSpec): Validation | undefined {
  const { managedPolicies = [], manifestWorkTemplates = [], preCaching, backup, actions } = spec;
  const { deleteObjects: _, ...after } = actions?.afterCompletion ?? {};
  const edits = [...Object.values(actions?.beforeEnable ?? {}), ...Object.values(after)];
  const isAsked = managedPolicies.length + manifestWorkTemplates.length > 0 || preCaching || backup;
  if (isAsked || edits.some((edit) => edit !== undefined && Object.keys(edit).length > 0)) return undefined;
  return refuse('NothingToDo', 'the spec names no policy, no template and nothing to pre-cache');
}

/** A PreCachingConfig of another namespace, where upgrades use those of their own alone. @param namespace of the upgrade */
export function validateConfigRef({ preCaching, preCachingConfigRef }: ClusterGroupUpgradeSpec, namespace: string): Validation | undefined {
  const wanted = preCachingConfigRef?.namespace;
  if (!preCaching || !wanted || wanted === namespace) return undefined;
  return refuse(
    'ForeignPreCachingConfig',
    `spec.preCachingConfigRef.namespace is ${JSON.stringify(wanted)}; upgrades of namespace ${namespace} use PreCachingConfigs of that namespace alone`,
  );
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
  return invalid('InvalidNameLabel', `${problems.slice(0, MOST_CLUSTERS).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`);
}
