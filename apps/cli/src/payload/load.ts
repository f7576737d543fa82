import { FlotillaError } from '@flotilla/api';
import {
  type EnabledCapabilities,
  type ExcludedManifest,
  enabledCapabilities,
  type InclusionFilter,
  loadPayload,
  type Manifest,
  type Payload,
  partManifests,
  releaseCapabilities,
  releaseFeatureGates,
  type WantedCapabilities,
} from '@flotilla/release';
import type { RegistryOptions } from '../registry/options.ts';
import { writeErr } from '../terminal/output.ts';
import { safeText } from '../terminal/safe-text.ts';
import { openPayload } from './open-payload.ts';
import type { PayloadOptions } from './options.ts';

/** A payload, split into a cluster's manifests and the rest. */
interface FilteredPayload {
  readonly payload: Payload;
  readonly included: readonly Manifest[];
  readonly excluded: readonly ExcludedManifest[];
}

/** Options that reading a payload needs. */
type ReadOptions = RegistryOptions & Pick<PayloadOptions, 'releaseImage' | 'profile'>;

/** Reads the payload of a folder or an image, and tells its warnings. @returns it with the major version of its release */
export async function readPayload(given: string, options: ReadOptions): Promise<{ payload: Payload; majorVersion: number }> {
  const { source, image, files } = await openPayload(given, options);
  const releaseImage = options.releaseImage ?? image ?? 'release.invalid/release';
  const payload = await loadPayload(files, { releaseImage, clusterProfile: options.profile, source });
  for (const warning of payload.warnings) writeErr(`warning: ${safeText(warning)}\n`);
  return { payload, majorVersion: Number(payload.release.version.split('.', 1)[0]) };
}

/** Reads the payload of a folder or an image and filters it as an initial install does. */
export async function loadFiltered(given: string, options: PayloadOptions): Promise<FilteredPayload> {
  const { profile, featureSet, exclude: excludeIdentifier } = options;
  const { payload, majorVersion: ownMajor } = await readPayload(given, options);
  const majorVersion = options.majorVersion ?? ownMajor;
  const featureGates = options.featureGates
    ? new Set(options.featureGates)
    : (releaseFeatureGates(payload.manifests, { profile, featureSet, majorVersion }) ?? noGates(options));
  const wanted = { baseline: options.capabilities, additional: options.enableCapability };
  const { known, ...parts } = partByCapabilities(
    payload.manifests,
    { profile, featureSet, majorVersion, featureGates, excludeIdentifier },
    wanted,
  );
  refuseUnknownCapabilities(options, known);
  return { payload, ...parts };
}

/** Parts manifests as the operator of their release does: it knows the capabilities that the release lists, which may be newer than this program. */
export function partByCapabilities(
  manifests: readonly Manifest[],
  filter: InclusionFilter & Pick<WantedCapabilities, 'featureGates'>,
  wanted: Pick<WantedCapabilities, 'baseline' | 'additional' | 'previous'>,
): Omit<FilteredPayload, 'payload'> & Pick<EnabledCapabilities, 'known'> {
  const listed = releaseCapabilities(partManifests(manifests, { ...filter, overrides: [] }).included);
  const capabilities = enabledCapabilities({ ...wanted, featureGates: filter.featureGates, listed });
  return { known: capabilities.known, ...partManifests(manifests, { ...filter, capabilities }) };
}

function noGates({ featureSet, profile }: PayloadOptions): ReadonlySet<string> {
  writeErr(
    `warning: the payload lists no feature gates for feature set ${featureSet} and profile ${profile}; none counts as on. Name them with --feature-gates\n`,
  );
  return new Set();
}

function refuseUnknownCapabilities({ enableCapability }: PayloadOptions, known: ReadonlySet<string>): void {
  const unknown = enableCapability.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new FlotillaError(
      'FLOTILLA_CONFIG',
      `--enable-capability: ${unknown.join(', ')} is not known; there are ${[...known].join(', ')}`,
    );
}
