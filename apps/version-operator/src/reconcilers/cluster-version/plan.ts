import type { ClusterVersion } from '@flotilla/api/config';
import {
  type EnabledCapabilities,
  enabledCapabilities,
  exclusionOf,
  firstState,
  implicitCapabilities,
  resolveDesiredUpdate,
  type WantedRelease,
} from '@flotilla/release';
import type { Work } from '../../apply/worker.ts';
import type { LoadedRelease } from '../../payload/release.ts';

/** The release that a ClusterVersion asks for; undefined: the one that is applied. An install is ended before another release counts. */
export const planRelease = (object: ClusterVersion, { release }: LoadedRelease, isInstalling: boolean): WantedRelease | undefined =>
  isInstalling ? undefined : resolveDesiredUpdate(object, release);

interface CapabilityContext {
  readonly always: readonly string[];
  /** The release that was applied before, whose objects stay. */
  readonly before?: { readonly release: LoadedRelease; readonly capabilities: EnabledCapabilities } | undefined;
}

/** Capabilities of a cluster (spec/cvo 1.7): what was enabled stays, and an update enables what the cluster has already. */
export function planCapabilities(
  { spec, status }: ClusterVersion,
  release: LoadedRelease,
  context: CapabilityContext,
): EnabledCapabilities {
  const { baselineCapabilitySet: baseline, additionalEnabledCapabilities } = spec.capabilities ?? {};
  const previous = context.before?.capabilities.enabled ?? status?.capabilities?.enabledCapabilities ?? [];
  const wanted = {
    baseline,
    additional: additionalEnabledCapabilities ?? [],
    previous,
    always: context.always,
    featureGates: release.featureGates,
    listed: release.knownCapabilities,
  };
  const enabled = enabledCapabilities(wanted);
  const { before } = context;
  if (!before || before.release === release) return enabled;
  const added = implicitCapabilities({
    current: before.release.manifests,
    update: release.manifests,
    capabilities: enabled,
    isIncluded: (manifest, capabilities) => exclusionOf(manifest, { capabilities }) === undefined,
  });
  return added.length === 0 ? enabled : enabledCapabilities({ ...wanted, previous: [...previous, ...added] });
}

/**
 * The work that a ClusterVersion asks for.
 * @param isChanged the release may consist of something else than what was applied of it
 */
export function planWork(object: ClusterVersion, release: LoadedRelease, capabilities: EnabledCapabilities, isChanged = false): Work {
  const { spec, status, metadata } = object;
  const first = firstState({ history: status?.history ?? [], image: release.release.image });
  return {
    generation: metadata.generation ?? 0,
    release,
    force: spec.desiredUpdate?.force ?? false,
    overrides: spec.overrides ?? [],
    capabilities,
    firstState: isChanged && first === 'Reconciling' ? 'Updating' : first,
  };
}
