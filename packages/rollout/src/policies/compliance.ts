import type { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { isSettled, type PolicyExamination } from './policies.ts';

/** Facts that decide whether a cluster has to be worked on. */
interface WorkInput {
  readonly spec: Pick<ClusterGroupUpgradeSpec, 'managedPolicies' | 'manifestWorkTemplates' | 'preCaching'>;
  /** Ignored in ManifestWork mode. */
  readonly examination: Pick<PolicyExamination, 'forUpgrade'>;
  /** Decide as the reference does where we differ. */
  readonly talmStrict: boolean;
}

/** True when the upgrade rolls out ManifestWorks; its policies, if any, are then never looked at (spec/talm 1.1). */
export const isManifestWorkMode = (spec: Pick<ClusterGroupUpgradeSpec, 'manifestWorkTemplates'>): boolean =>
  (spec.manifestWorkTemplates?.length ?? 0) > 0;

/**
 * True for an upgrade that only pre-caches: it names neither policies nor ManifestWorks. The reference calls its clusters
 * compliant and pulls nothing; we pull what its PreCachingConfig names onto all of them, so that a plain Kubernetes hub
 * without the policy framework can pre-cache too. With `talmStrict` it is as in the reference.
 */
const isPrecacheOnly = ({ spec, talmStrict }: Omit<WorkInput, 'examination'>): boolean =>
  spec.preCaching && !talmStrict && !isManifestWorkMode(spec) && (spec.managedPolicies?.length ?? 0) === 0;

/**
 * The test that `planBatches` asks of each cluster (spec/talm 2.7). ManifestWork mode: none is compliant. Policies: a
 * cluster is compliant when it is done with each policy for upgrade, or is known to have nothing to do there. Neither: all are
 * compliant, except where `isPrecacheOnly`.
 */
export function createComplianceTest(input: WorkInput): (cluster: string) => boolean {
  if (isManifestWorkMode(input.spec) || isPrecacheOnly(input)) return () => false;
  const { forUpgrade } = input.examination;
  return (cluster) => forUpgrade.every(({ look }) => isSettled(look(cluster)));
}
