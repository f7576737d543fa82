import { errorMessage, FlotillaError, WaitingError } from '@flotilla/api';
import type { ClusterProxy, ClusterVersion } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import { FollowingConnections } from '@flotilla/http';
import { type Manifest, resolveDesiredUpdate } from '@flotilla/release';
import {
  digestOfPullSpec,
  readVerificationConfig,
  type SignatureStore,
  signatureStages,
  verifyRelease,
} from '@flotilla/release/signatures';
import type { Client, Clock, Logger } from '@flotilla/runtime';
import { proxyOf } from '../updates/cluster-updates.ts';
import type { ReleaseImages } from './release-image.ts';
import { type ReleaseSource, retrieveRelease } from './retrieve-release.ts';
import { addressedSignatureStore, clusterSignatureStore, keepSignatures } from './signature-stores.ts';

/** Objects of a cluster that decide where a release comes from, and who vouches for it. */
export interface SourceSurroundings {
  /** Manifests of the release that is applied: it says who signs the next one. */
  readonly applied: () => readonly Manifest[];
  readonly clusterVersion: () => ClusterVersion | undefined;
  readonly proxy: () => ClusterProxy | undefined;
}

interface RegistrySourceOptions extends SourceSurroundings {
  readonly client: Client;
  readonly images: ReleaseImages;
  /** True when used signatures are kept in the cluster. */
  readonly isKeeping: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reading ahead is bounded: looking for signatures, then downloading; milliseconds. */
const VERIFY_AHEAD_MS = 60_000;
const READ_AHEAD_MS = 10 * 60_000;
/** A release that nobody vouches for is looked at again after so long: its signature may come, milliseconds. */
const UNVERIFIED_AGAIN_MS = 30_000;

/** Releases of registries, each verified by the keys of the release before it. */
export function registrySource(options: RegistrySourceOptions): ReleaseSource {
  const { client, images, isKeeping, clock, logger } = options;
  const keep = async (image: string, signatures: readonly Uint8Array[], signal: AbortSignal): Promise<void> => {
    if (!isKeeping) return;
    await keepSignatures(client, digestOfPullSpec(image), signatures, signal).catch((err: unknown) =>
      logger.warn({ err, release: image }, 'Keeping the signatures of a release failed'),
    );
  };
  return {
    async prefetch(image, signal) {
      refuseForeign(image, options);
      const until = AbortSignal.any([signal, AbortSignal.timeout(VERIFY_AHEAD_MS)]);
      const signatures = await verified(digestOfPullSpec(image), options, until).catch((cause: unknown) => {
        const why = `${image} is not read ahead, because it is not verified: ${errorMessage(cause)}`;
        throw new WaitingError('FLOTILLA_RELEASE_PREFETCH', why, UNVERIFIED_AGAIN_MS);
      });
      await images.read(image, AbortSignal.any([signal, AbortSignal.timeout(READ_AHEAD_MS)]), pinnedOf(options));
      await keep(image, signatures, signal);
    },
    async retrieve(release, signal) {
      const verify = (digest: string, until: AbortSignal) => verified(digest, options, until);
      const { signatures, ...retrieved } = await retrieveRelease(release, {
        verify,
        fetch: (image, until) => images.read(image, until, pinnedOf(options)),
        clock,
        signal,
      });
      await keep(release.image, signatures, signal);
      return retrieved;
    },
  };
}

/** Releases that the cluster runs, ran before or is sent to, as its ClusterVersion names them. */
function knownImages(clusterVersion: ClusterVersion | undefined): string[] {
  if (!clusterVersion) return [];
  const { status } = clusterVersion;
  const completed = status?.history?.find(({ state }) => state === 'Completed');
  const images = [resolveDesiredUpdate(clusterVersion)?.image, status?.desired?.image, status?.history?.[0]?.image, completed?.image];
  return images.flatMap((image) => image || []);
}

/** Digests of releases that stay in the cache whatever else is read. */
const pinnedOf = ({ clusterVersion }: Pick<SourceSurroundings, 'clusterVersion'>): ReadonlySet<string> =>
  new Set(knownImages(clusterVersion()).map(digestOfPullSpec));

/** Refuses an image of another repository: pre-caching may name an image, but does not decide where releases come from. */
function refuseForeign(image: string, { images, clusterVersion }: RegistrySourceOptions): void {
  const known = knownImages(clusterVersion());
  if (known.some((other) => isOfRepository(images, image, other))) return;
  const repositories = [...new Set(known.map((name) => name.replace(/@.*/, '')))].join(', ') || 'none yet';
  const why = `${image} is not read ahead: it is of another repository than the releases of the ClusterVersion (${repositories}) and their mirrors`;
  throw new WaitingError('FLOTILLA_RELEASE_PREFETCH', why, UNVERIFIED_AGAIN_MS);
}

/** A name that is none is of no repository: whoever reads it is told so. */
function isOfRepository(images: ReleaseImages, image: string, other: string): boolean {
  try {
    return images.isOfRepository(image, other);
  } catch {
    return false;
  }
}

async function verified(digest: string, options: RegistrySourceOptions, signal: AbortSignal): Promise<readonly Uint8Array[]> {
  const config = await readVerificationConfig(options.applied());
  if (!config)
    throw new FlotillaError('FLOTILLA_RELEASE_UNVERIFIED', 'verification is not possible: the running release says not who signs releases');
  const trusted = await bundleOf(options.client, 'openshift-config-managed', 'trusted-ca-bundle', signal);
  await using ways = new AsyncDisposableStack();
  const way = (ca: string | undefined) => ways.use(new FollowingConnections(() => ({ proxy: proxyOf(options.proxy()), ca })));
  const ofRelease = way(trusted);
  const stages = signatureStages({
    inCluster: clusterSignatureStore(options.client),
    configured: options
      .clusterVersion()
      ?.spec.signatureStores?.map(({ url, ca }, index) =>
        configuredStore({ name: `spec.signatureStores[${index}]`, url, ca: ca?.name ?? '' }, { client: options.client, trusted, way }),
      ),
    ofPayload: config.stores.map((store) => addressedSignatureStore(store, ofRelease)),
  });
  const { signatures } = await verifyRelease(digest, { keyrings: config.keyrings, stages, now: new Date(options.clock.now()), signal });
  return signatures;
}

interface ConfiguredStore {
  readonly name: string;
  readonly url: string;
  /** ConfigMap in openshift-config with the store's authority; empty for none. */
  readonly ca: string;
}

interface Ways {
  readonly client: Client;
  readonly trusted: string | undefined;
  readonly way: (ca: string | undefined) => FollowingConnections;
}

/** A store of the ClusterVersion; one that cannot be asked says so when it is. */
function configuredStore({ name, url, ca }: ConfiguredStore, { client, trusted, way }: Ways): SignatureStore {
  return {
    name,
    async *signatures(digest, signal) {
      const address = URL.parse(url);
      if (!address || !['http:', 'https:'].includes(address.protocol))
        throw new FlotillaError('FLOTILLA_SIGNATURE_STORE', 'its url is no http or https URL');
      const own = ca === '' ? undefined : await bundleOf(client, 'openshift-config', ca, signal);
      if (ca !== '' && own === undefined)
        throw new FlotillaError('FLOTILLA_SIGNATURE_STORE', `its ConfigMap openshift-config/${ca} has no ca-bundle.crt`);
      yield* addressedSignatureStore({ name, url: address }, way(own ?? trusted)).signatures(digest, signal);
    },
  };
}

async function bundleOf(client: Client, namespace: string, name: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.get(ConfigMap, { namespace, name }, { signal }))?.data?.['ca-bundle.crt'];
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_SIGNATURE_STORE', `ConfigMap ${namespace}/${name} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}
