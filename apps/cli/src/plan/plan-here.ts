import { Annotation } from '@flotilla/api';
import type { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { type ObservedUpgrade, objectDefinitions, planUpgrade, repositoryOf, type UpgradePlan } from '@flotilla/rollout';

/** By the function that the hub plans with; what only a running hub knows counts as allowed. */
export function planHere(observed: ObservedUpgrade, spec: ClusterGroupUpgradeSpec): UpgradePlan {
  const wanted = observed.config?.spec?.overrides?.preCacheImage?.trim();
  return planUpgrade(unbound(observed), spec, {
    talmStrict: false,
    updateGraphUrl: undefined,
    lookUpRelease: () => ({ kind: 'pending' }),
    readPolicy: (policy) => objectDefinitions(policy),
    standalone: false,
    now: Date.now,
    precacheImage: 'the image of the hub',
    precacheImageAllow: wanted ? [repositoryOf(wanted)] : [],
  });
}

/** A plan says what would be done now, whatever was saved before. */
function unbound(observed: ObservedUpgrade): ObservedUpgrade {
  const { [Annotation.plan]: _, ...annotations } = observed.upgrade.metadata.annotations ?? {};
  return { ...observed, upgrade: { ...observed.upgrade, metadata: { ...observed.upgrade.metadata, annotations } } };
}
