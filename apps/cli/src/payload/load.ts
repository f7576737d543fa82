import { stat } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import { parseImageReference, readLayerFiles, resolveImage } from '@flotilla/registry';
import {
  type EnabledCapabilities,
  type ExcludedManifest,
  enabledCapabilities,
  type InclusionFilter,
  isPayloadPath,
  loadPayload,
  type Manifest,
  type Payload,
  type PayloadFile,
  partManifests,
  payloadLimits,
  releaseCapabilities,
  releaseFeatureGates,
  type WantedCapabilities,
} from '@flotilla/release';
import { readPayloadFolder } from '@flotilla/release/folder';
import { callersPath } from '../config.ts';
import { openRegistry } from '../registry/open.ts';
import type { RegistryOptions } from '../registry/options.ts';
import { safeText, writeErr } from '../terminal/output.ts';
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

/** Source and files of a payload. */
interface OpenPayload {
  /** Name for messages. */
  readonly source: string;
  /** Pull spec of a payload from a registry. */
  readonly image: string | undefined;
  readonly files: AsyncIterable<PayloadFile>;
}

/** Time-out for reading a release image, in milliseconds. */
const IMAGE_TIMEOUT_MS = 4 * 60_000;

/**
 * Opens a payload in a folder, or in a release image when no such path exists and the text is a reference with its host.
 * @throws FlotillaError `FLOTILLA_PAYLOAD_FOLDER`, `FLOTILLA_CONFIG`, or the registry's refusal
 */
export async function openPayload(given: string, options: RegistryOptions): Promise<OpenPayload> {
  const path = callersPath(given);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (isThere || !looksLikeImage(given)) return { source: path, image: undefined, files: readPayloadFolder(path) };
  return { source: given, image: given, files: readPayloadImage(given, options) };
}

/** True for `host/repository:tag` or a digest: a path has neither a host nor these. */
function looksLikeImage(text: string): boolean {
  const slash = text.indexOf('/');
  const host = text.slice(0, Math.max(slash, 0));
  return host !== '.' && host !== '..' && /[.:]/.test(host) && /[:@]/.test(text.slice(slash));
}

async function* readPayloadImage(pullSpec: string, options: RegistryOptions): AsyncGenerator<PayloadFile> {
  const reference = parseImageReference(pullSpec);
  await using client = await openRegistry(options);
  const signal = AbortSignal.timeout(IMAGE_TIMEOUT_MS);
  const image = await resolveImage(client, reference, { signal });
  const { fileBytes: maxFileBytes, totalBytes: maxTotalBytes } = payloadLimits;
  const files = await readLayerFiles(client, image, { match: isPayloadPath, maxFileBytes, maxTotalBytes, signal });
  for (const [file, content] of files) yield { path: file, content };
}
