import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeSpec, type PrecachingSpec } from '@flotilla/api/ran';
import type { ResolvePlatformImage } from '@flotilla/rollout';
import {
  type ClusterSelection,
  computeMaxConcurrency,
  createComplianceTest,
  derivePrecachingSpec,
  examinePolicies,
  isManifestWorkMode,
  type PolicyExamination,
  planBatches,
  policyFrameworkMissing,
  type SoftwareFailure,
  selectClusters,
  type Validation,
  validateConfigRef,
  validateInput,
  validateNameLabels,
  validateUpgrade,
} from '@flotilla/rollout';
import type { ObservedUpgrade } from './observe.ts';

/** What planning needs besides the observation. */
export interface PlanDeps {
  readonly talmStrict: boolean;
  readonly updateGraphUrl: string | undefined;
  readonly resolvePlatformImage: ResolvePlatformImage;
  /** The hub was started for a fleet without the policy framework. */
  readonly standalone: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Image of the puller from the configuration; empty when there is none. */
  readonly precacheImage: string;
  /** Images that a PreCachingConfig may name instead. */
  readonly precacheImageAllow: readonly string[];
}

/** What one pass wants. `stopped` names the check that refused, in the order of the gates. */
export interface UpgradePlan {
  readonly selection: ClusterSelection;
  readonly computedMaxConcurrency: number;
  readonly policies: PolicyExamination;
  readonly validation: Validation | undefined;
  readonly batches: string[][];
  /** Absent when nothing is to be pre-cached. */
  readonly precaching:
    | { readonly spec?: PrecachingSpec; readonly image?: string | undefined; readonly failure?: SoftwareFailure }
    | undefined;
  /** Clusters of the plan, canaries first. */
  readonly precachingClusters: readonly string[];
  /** Who has nothing to do in the rollout. */
  readonly isCompliant: (cluster: string) => boolean;
  /** Clusters of the upgrade that have nothing to do, canaries first. */
  readonly compliant: readonly string[];
  readonly stopped: 'selection' | 'validation' | 'precacheSpec' | undefined;
  /** Look again after so many milliseconds even if nothing changes. */
  readonly recheckAfterMs: number | undefined;
}

const noPolicies: PolicyExamination = {
  forUpgrade: [],
  compliantBefore: [],
  enforced: [],
  missing: [],
  invalid: [],
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

/** Plans one pass (spec/talm 2.5–2.7, 3.1–3.3). Network only through `resolvePlatformImage`. */
export async function planUpgrade(observed: ObservedUpgrade, spec: ClusterGroupUpgradeSpec, deps: PlanDeps): Promise<UpgradePlan> {
  const selection = selectClusters(spec, observed.managed, observed.tenancy);
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
  };
  if (selection.failure) return { ...base, stopped: 'selection', recheckAfterMs: undefined };

  const policies = isManifestWorkMode(spec) ? noPolicies : examine(observed, spec, { clusters, talmStrict: deps.talmStrict });
  const validation = await validate(observed, spec, policies, deps);
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
  if (unselectable) return { ...base, policies, validation: unselectable, stopped: 'validation', recheckAfterMs: undefined };
  // The rollout has nothing to do for an upgrade that only pre-caches, as in the reference.
  const { isCompliant, compliant } = planFor(true);
  const planned = { ...base, policies, validation, batches, isCompliant, compliant };
  if (!spec.preCaching || batches.length === 0) return { ...planned, stopped: undefined, recheckAfterMs: undefined };

  const software = await derive(observed, spec, policies, deps);
  const precachingClusters = batches.flat();
  if (software.failure) {
    const recheckAfterMs = software.failure.transient ? RECHECK_MS : undefined;
    return { ...planned, precaching: { failure: software.failure }, precachingClusters, stopped: 'precacheSpec', recheckAfterMs };
  }
  return {
    ...planned,
    precaching: { spec: software.spec, image: software.workloadImage },
    precachingClusters,
    stopped: undefined,
    recheckAfterMs: undefined,
  };
}

function examine(
  observed: ObservedUpgrade,
  spec: ClusterGroupUpgradeSpec,
  { clusters, talmStrict }: { readonly clusters: readonly string[]; readonly talmStrict: boolean },
): PolicyExamination {
  const children = observed.childrenOf(clusters);
  return examinePolicies({
    managedPolicies: spec.managedPolicies,
    clusters,
    children,
    parents: observed.parent,
    namespace: observed.tenancy?.namespace,
    talmStrict,
  });
}

async function validate(
  observed: ObservedUpgrade,
  spec: ClusterGroupUpgradeSpec,
  examination: PolicyExamination,
  deps: PlanDeps,
): Promise<Validation> {
  const { upgrade, template, servesPolicies, tenancy } = observed;
  const foreign = tenancy && validateConfigRef(spec, tenancy.namespace);
  if (foreign) return foreign;
  const isPolicyMode = !isManifestWorkMode(spec);
  if (isPolicyMode && (spec.managedPolicies?.length ?? 0) > 0 && !servesPolicies) return policyFrameworkMissing(deps.standalone);
  const validation = isPolicyMode
    ? await validateUpgrade({
        mode: 'policy',
        examination,
        preCaching: spec.preCaching,
        updateGraphUrl: deps.updateGraphUrl,
        resolvePlatformImage: deps.resolvePlatformImage,
        namespace: tenancy?.namespace,
      })
    : await validateUpgrade({ mode: 'manifestWork', templates: spec.manifestWorkTemplates ?? [], template });
  return validation.status === 'True' ? (validateInput(upgrade, spec, deps.now()) ?? validation) : validation;
}

/** The spec is derived anew until all spokes are done with it, so that edits count; strictly, it is frozen once valid. */
async function derive(observed: ObservedUpgrade, spec: ClusterGroupUpgradeSpec, policies: PolicyExamination, deps: PlanDeps) {
  const { status } = observed.upgrade;
  const frozenBy = deps.talmStrict ? ClusterGroupUpgradeCondition.precacheSpecValid : ClusterGroupUpgradeCondition.precachingSucceeded;
  const frozen = status?.precaching?.spec;
  if (frozen && findCondition(status.conditions, frozenBy)?.status === 'True') return { spec: frozen, workloadImage: undefined };
  const software = await derivePrecachingSpec({
    policies: [...policies.forUpgrade, ...policies.compliantBefore],
    configRef: spec.preCachingConfigRef,
    config: observed.config,
    overrides: observed.overrides,
    talmStrict: deps.talmStrict,
    imageAllow: deps.precacheImageAllow,
    updateGraphUrl: deps.updateGraphUrl,
    resolvePlatformImage: deps.resolvePlatformImage,
  });
  return software.failure || software.workloadImage || deps.precacheImage !== '' ? software : { failure: NO_IMAGE };
}
