import type { Release } from '@flotilla/api/config';
import {
  type ExcludedManifest,
  loadPayload,
  type Manifest,
  type PayloadFile,
  partManifests,
  payloadHash,
  releaseCapabilities,
  releaseFeatureGates,
} from '@flotilla/release';
import { Wanted } from './wanted.ts';

/** A release that is ready to be applied. */
export interface LoadedRelease {
  readonly release: Release;
  readonly versionHash: string;
  /** Creation time of the release, as far as it says so. */
  readonly createdAt: string | undefined;
  /** Manifests of the cluster's profile, feature set and feature gates; those of disabled capabilities are among them. */
  readonly manifests: readonly Manifest[];
  readonly excluded: readonly Pick<ExcludedManifest, 'rule' | 'message'>[];
  /** Each manifest prepared for comparison with the cluster. */
  readonly wanted: ReadonlyMap<Manifest, Wanted>;
  /** Feature set and gates that it was read with. */
  readonly featureSet: string;
  readonly featureGates: ReadonlySet<string>;
  /** Capabilities that it knows; undefined where it does not say. */
  readonly knownCapabilities: readonly string[] | undefined;
  readonly verified: boolean;
  /** It is the release that the operator itself is of. */
  readonly local: boolean;
}

/** Settings of a cluster by which a release is read. */
export interface ReadRelease {
  readonly image: string;
  readonly profile: string;
  readonly featureSet: string;
  /** Gates that are on under a version, where the cluster lists them. */
  readonly gatesOf: (version: string) => ReadonlySet<string> | undefined;
  readonly excludeIdentifier?: string;
  readonly verified: boolean;
  readonly local: boolean;
  readonly signal?: AbortSignal;
}

/** Reads a release and leaves out what is not for this cluster. Where the cluster lists no feature gates, those of the release itself count. */
export async function readRelease(
  files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>,
  { image, profile, featureSet, gatesOf, excludeIdentifier, verified, local, signal }: ReadRelease,
): Promise<LoadedRelease> {
  const payload = await loadPayload(files, { releaseImage: image, clusterProfile: profile, signal });
  const { version } = payload.release;
  const majorVersion = Number(version.split('.', 1)[0]);
  const audience = { profile, featureSet, majorVersion };
  const featureGates = gatesOf(version) ?? releaseFeatureGates(payload.manifests, audience) ?? new Set<string>();
  const { included, excluded } = partManifests(payload.manifests, { ...audience, featureGates, excludeIdentifier });
  return {
    release: payload.release,
    versionHash: payloadHash(included),
    createdAt: payload.imageReferences.created,
    manifests: included,
    excluded: excluded.map(({ rule, message }) => ({ rule, message })),
    wanted: new Map(included.map((manifest) => [manifest, new Wanted(manifest)])),
    featureSet,
    featureGates,
    knownCapabilities: releaseCapabilities(included),
    verified,
    local,
  };
}
