import { findCondition, refKey } from '@flotilla/api';
import type { ConfigMap } from '@flotilla/api/core';
import type { ManagedCluster, ManifestWorkReplicaSet, Policy } from '@flotilla/api/ocm';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeSpec,
  type PreCachingConfig,
  type PrecachingSpec,
} from '@flotilla/api/ran';
import { computeMaxConcurrency, planBatches } from './batches/batches.ts';
import { CLUSTER_API_MISSING, type ClusterSelection, findNobodySelected, selectClusters } from './clusters/cluster-selection.ts';
import { type Missing, missingMembers } from './clusters/returning.ts';
import type { Tenancy } from './clusters/tenancy.ts';
import { findOtherPlan, planDigest } from './plan-digest.ts';
import { createComplianceTest, examinePolicies, isManifestWorkMode, type PolicyExamination } from './policies/policies.ts';
import type { PolicyStructure } from './policies/policy-structure.ts';
import type { PolicyWays } from './policies/reach.ts';
import type { LookUpRelease, ReleaseLookup, ReleaseQuery } from './software/policy-software.ts';
import { findOtherSoftware } from './software/same-software.ts';
import { derivePrecachingSpec, ownWorkloadImage, type SoftwareFailure } from './software/software-spec.ts';
import type { UpgradeRef } from './upgrade/identity.ts';
import {
  policyFrameworkMissing,
  SERVED_AGAIN_MS,
  validateAnnotations,
  validateConfigRef,
  validateInput,
  validateNameLabels,
  validateStrict,
  validateWork,
} from './validation/input-checks.ts';
import { type Validation, validateUpgrade } from './validation/validation.ts';

/** Everything one pass looks at, as it is known now. */
export interface ObservedUpgrade {
  readonly upgrade: ClusterGroupUpgrade;
  /** The whole fleet. */
  readonly managed: readonly ManagedCluster[];
  /** Absent: everything may be reached. */
  readonly tenancy: Tenancy | undefined;
  readonly childrenOf: (clusters: readonly string[]) => Policy[];
  readonly parent: (namespace: string, name: string) => Policy | undefined;
  /** Root policies of a name, in any namespace. */
  readonly policiesNamed?: (name: string) => readonly Policy[];
  /** Objects that place policies, but those of upgrades; absent: they are not known, and nothing is asked of them. */
  readonly ways?: PolicyWays | undefined;
  readonly config: PreCachingConfig | undefined;
  readonly overrides: ConfigMap | undefined;
  /** A template of the upgrade's namespace. */
  readonly template: (name: string) => ManifestWorkReplicaSet | undefined;
  /** The API server serves Policies and Placements. */
  readonly servesPolicies: boolean;
  /** The API server serves PlacementDecisions, without which nothing is bound; absent: nobody asked. */
  readonly servesDecisions?: boolean;
  /** The API server serves ManagedClusters. */
  readonly servesClusters: boolean;
  /** Members of the stored plan that may come back; absent: none, or they are not waited for. */
  readonly missing?: Missing | undefined;
  readonly upgradeAt: (ref: UpgradeRef) => ClusterGroupUpgrade | undefined;
}

/** Dependencies of planning besides the observation. */
export interface PlanDeps {
  readonly talmStrict: boolean;
  readonly updateGraphUrl: string | undefined;
  /** @param waiter the upgrade, `namespace/name`, that is woken by an answer */
  readonly lookUpRelease: (query: ReleaseQuery, waiter: string) => ReleaseLookup;
  /** @param waiter the upgrade, `namespace/name`, that is woken when the policy is read */
  readonly readPolicy: (policy: Policy, waiter: string) => PolicyStructure | undefined;
  /** The hub was started for a fleet without the policy framework. */
  readonly standalone: boolean;
  readonly now: () => number;
  /** Image of the puller from the configuration; empty when there is none. */
  readonly precacheImage: string;
  /** False where the API server drops what proofs need. */
  readonly areProofsKept?: boolean;
  /** Images that a PreCachingConfig may name instead. */
  readonly precacheImageAllow: readonly string[];
}

/** Plan of one pass. `stopped` names the check that refused, in the order of the gates. */
export interface UpgradePlan {
  readonly selection: ClusterSelection;
  readonly computedMaxConcurrency: number;
  readonly policies: PolicyExamination;
  readonly validation: Validation | undefined;
  readonly batches: string[][];
  /** Absent when nothing is to be pre-cached. */
  readonly precaching:
    | { readonly spec?: PrecachingSpec; readonly note?: string | undefined; readonly failure?: SoftwareFailure }
    | undefined;
  /** Clusters of the plan, canaries first. */
  readonly precachingClusters: readonly string[];
  /** True for a cluster that has nothing to do in the rollout. */
  readonly isCompliant: (cluster: string) => boolean;
  /** Clusters of the upgrade that have nothing to do, canaries first. */
  readonly compliant: readonly string[];
  readonly stopped: 'selection' | 'policyReading' | 'validation' | 'releaseLookup' | 'precacheSpec' | undefined;
  /** Look again after so many milliseconds even if nothing changes. */
  readonly recheckAfterMs: number | undefined;
}

const noPolicies: PolicyExamination = {
  forUpgrade: [],
  compliantBefore: [],
  enforced: [],
  missing: [],
  invalid: [],
  unread: [],
  ambiguous: {},
  namespaces: {},
};
const RECHECK_MS = 60_000;
/** Without it every spoke's job would be refused, one after the other. */
const NO_IMAGE: SoftwareFailure = {
  reason: 'PrecacheSpecIncomplete',
  message: 'Precaching spec is incomplete: no image of the puller is configured; start the hub with --precache-image (PRECACHE_IMAGE)',
  transient: false,
};

/** Plans one pass (spec/talm 2.5–2.7, 3.1–3.3). */
export function planUpgrade(observed: ObservedUpgrade, spec: ClusterGroupUpgradeSpec, deps: PlanDeps): UpgradePlan {
  const selection = select(observed, spec, deps);
  const clusters = selection.failure ? [] : selection.clusters;
  const computedMaxConcurrency = computeMaxConcurrency(spec.remediationStrategy.maxConcurrency, clusters.length);
  const base = {
    selection,
    computedMaxConcurrency,
    policies: noPolicies,
    validation: undefined,
    batches: [],
    precaching: undefined,
    precachingClusters: [],
    isCompliant: () => false,
    compliant: [],
    stopped: undefined,
    recheckAfterMs: undefined,
  };
  if (selection.failure) {
    const again = selection.failure.reason === 'WaitingForMembers' && observed.missing ? observed.missing.until - deps.now() : undefined;
    return { ...base, stopped: 'selection', recheckAfterMs: observed.servesClusters ? again : SERVED_AGAIN_MS };
  }

  const policies = isManifestWorkMode(spec) ? noPolicies : examine(observed, spec, clusters, deps);
  if (policies.unread.length > 0) return { ...base, policies, stopped: 'policyReading' };
  const validation = validate(observed, spec, policies, deps);
  if (validation === 'pending') return { ...base, policies, stopped: 'releaseLookup' };
  if (validation.status !== 'True')
    return { ...base, policies, validation, stopped: 'validation', recheckAfterMs: validation.recheckAfterMs };

  const { canaries, maxConcurrency } = spec.remediationStrategy;
  const planFor = (talmStrict: boolean) => {
    const isCompliant = createComplianceTest({ spec, examination: policies, talmStrict });
    return { isCompliant, ...planBatches({ clusters, canaries, maxConcurrency, isCompliant }) };
  };
  const { batches } = planFor(deps.talmStrict);
  const unselectable =
    policies.forUpgrade.length > 0 ? validateNameLabels(new Set(planFor(true).batches.flat()), observed.managed) : undefined;
  if (unselectable) return { ...base, policies, validation: unselectable, stopped: 'validation' };
  // The rollout has nothing to do for an upgrade that only pre-caches, as in the reference.
  const { isCompliant, compliant } = planFor(true);
  const planned = { ...base, policies, validation, batches, isCompliant, compliant };
  const bound = (plan: UpgradePlan): UpgradePlan => {
    if (deps.talmStrict) return plan;
    const refused = findOtherPlan(observed.upgrade, () => planDigest(plan, spec, observed.template));
    return refused ? { ...plan, validation: refused, precaching: undefined, precachingClusters: [], stopped: 'validation' } : plan;
  };
  if (!spec.preCaching || batches.length === 0) return bound(planned);

  const software = derive(observed, spec, policies, deps);
  if ('pending' in software) return { ...planned, stopped: 'releaseLookup' };
  const precachingClusters = batches.flat();
  if (software.failure) {
    const recheckAfterMs = software.failure.transient ? RECHECK_MS : undefined;
    return { ...planned, precaching: { failure: software.failure }, precachingClusters, stopped: 'precacheSpec', recheckAfterMs };
  }
  return bound({ ...planned, precaching: { spec: software.spec, note: software.note }, precachingClusters });
}

/** Nobody is no failure for the reference, which then ends as if all were done. */
function select(
  { managed, tenancy, servesClusters, missing }: ObservedUpgrade,
  spec: ClusterGroupUpgradeSpec,
  { talmStrict }: PlanDeps,
): ClusterSelection {
  if (!servesClusters) return { failure: CLUSTER_API_MISSING };
  const selection = selectClusters(spec, managed, tenancy);
  const fleet = tenancy ? managed.filter(tenancy.reaches) : managed;
  if (missing && !talmStrict && !selection.failure?.missing) return { failure: missingMembers(missing) };
  const nobody = talmStrict ? undefined : findNobodySelected(spec, selection, fleet.length);
  return nobody ? { failure: nobody } : selection;
}

function examine(
  observed: ObservedUpgrade,
  spec: ClusterGroupUpgradeSpec,
  clusters: readonly string[],
  { readPolicy, talmStrict }: PlanDeps,
): PolicyExamination {
  const children = observed.childrenOf(clusters);
  return examinePolicies({
    managedPolicies: spec.managedPolicies,
    clusters,
    children,
    parents: observed.parent,
    read: (policy) => readPolicy(policy, refKey(observed.upgrade.metadata)),
    namespace: observed.tenancy?.namespace,
    ways: talmStrict ? undefined : observed.ways,
    ...(observed.policiesNamed && { named: observed.policiesNamed }),
    talmStrict,
  });
}

function validate(
  observed: ObservedUpgrade,
  spec: ClusterGroupUpgradeSpec,
  examination: PolicyExamination,
  deps: PlanDeps,
): Validation | 'pending' {
  const { upgrade, template, servesPolicies, servesDecisions, tenancy } = observed;
  const ours = deps.talmStrict
    ? validateStrict(upgrade)
    : (validateAnnotations(upgrade, spec, observed.config, deps.areProofsKept) ?? validateWork(spec));
  const refused = ours ?? (tenancy && validateConfigRef(spec, tenancy.namespace));
  if (refused) return refused;
  const isPolicyMode = !isManifestWorkMode(spec);
  const isServed = servesPolicies && (deps.talmStrict || servesDecisions !== false);
  if (isPolicyMode && (spec.managedPolicies?.length ?? 0) > 0 && !isServed) return policyFrameworkMissing(deps.standalone);
  const validation = isPolicyMode
    ? validateUpgrade({
        mode: 'policy',
        examination,
        preCaching: spec.preCaching,
        talmStrict: deps.talmStrict,
        updateGraphUrl: deps.updateGraphUrl,
        lookUpRelease: lookUpFor(observed, deps),
        namespace: tenancy?.namespace,
      })
    : validateUpgrade({ mode: 'manifestWork', templates: spec.manifestWorkTemplates ?? [], template });
  return validation !== 'pending' && validation.status === 'True'
    ? (validateInput(upgrade, spec, deps.now(), tenancy) ?? validation)
    : validation;
}

/** The spec is derived anew until the start, so that no rollout begins on other images than were pulled; strictly, it is frozen once valid. */
function derive(observed: ObservedUpgrade, spec: ClusterGroupUpgradeSpec, policies: PolicyExamination, deps: PlanDeps) {
  const { status } = observed.upgrade;
  const frozen = deps.talmStrict ? status?.precaching?.spec : undefined;
  if (frozen && findCondition(status?.conditions, ClusterGroupUpgradeCondition.precacheSpecValid)?.status === 'True')
    return { spec: frozen };
  const software = derivePrecachingSpec({
    policies: [...policies.forUpgrade, ...policies.compliantBefore],
    configRef: spec.preCachingConfigRef,
    config: observed.config,
    overrides: observed.overrides,
    talmStrict: deps.talmStrict,
    imageAllow: deps.precacheImageAllow,
    updateGraphUrl: deps.updateGraphUrl,
    lookUpRelease: lookUpFor(observed, deps),
  });
  if ('pending' in software || software.failure) return software;
  if (deps.precacheImage === '' && !ownWorkloadImage(observed.config, deps.talmStrict)) return { failure: NO_IMAGE };
  const failure = deps.talmStrict ? undefined : findOtherSoftware(observed.upgrade, software.spec, observed.upgradeAt);
  return failure ? { failure } : software;
}

const lookUpFor =
  ({ upgrade }: ObservedUpgrade, { lookUpRelease }: PlanDeps): LookUpRelease =>
  (query) =>
    lookUpRelease(query, refKey(upgrade.metadata));
