import { errorMessage, FlotillaError } from '@flotilla/api';
import type { ClusterProxy, ClusterVersion } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import type { Manifest } from '@flotilla/release';
import {
  digestOfPullSpec,
  readVerificationConfig,
  type SignatureStore,
  signatureStages,
  verifyRelease,
} from '@flotilla/release/signatures';
import type { Client, Clock, Logger } from '@flotilla/runtime';
import { FollowingConnections, type Reach } from '../updates/connections.ts';
import { keepSignatures } from './keep-signatures.ts';
import type { ReleaseImages } from './release-image.ts';
import { retrieveRelease } from './retrieve-release.ts';
import { addressedSignatureStore, clusterSignatureStore } from './signature-stores.ts';
import type { ReleaseSource } from './source.ts';

/** What of a cluster decides where a release comes from, and who vouches for it. */
export interface SourceSurroundings {
  /** Manifests of the release that is applied: it says who signs the next one. */
  readonly applied: () => readonly Manifest[];
  readonly clusterVersion: () => ClusterVersion | undefined;
  readonly proxy: () => ClusterProxy | undefined;
}

/** How releases are taken from registries. */
export interface RegistrySourceOptions extends SourceSurroundings {
  readonly client: Client;
  readonly images: ReleaseImages;
  /** Whether signatures that were used are kept in the cluster. */
  readonly isKeeping: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What looking for signatures ahead may take, milliseconds. */
const VERIFY_AHEAD_MS = 60_000;

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
      await images.read(image, signal);
      try {
        await keep(
          image,
          await verified(digestOfPullSpec(image), options, AbortSignal.any([signal, AbortSignal.timeout(VERIFY_AHEAD_MS)])),
          signal,
        );
      } catch (err) {
        // whether it may be taken is asked when it is
        logger.info({ err, release: image }, 'A release that is read ahead is not verified yet');
      }
    },
    async retrieve(release, signal) {
      const verify = (digest: string, until: AbortSignal) => verified(digest, options, until);
      const { signatures, ...retrieved } = await retrieveRelease(release, {
        verify,
        fetch: (image, until) => images.read(image, until),
        clock,
        signal,
      });
      await keep(release.image, signatures, signal);
      return retrieved;
    },
  };
}

async function verified(digest: string, options: RegistrySourceOptions, signal: AbortSignal): Promise<readonly Uint8Array[]> {
  const config = await readVerificationConfig(options.applied());
  if (!config)
    throw new FlotillaError('FLOTILLA_RELEASE_UNVERIFIED', 'verification is not possible: the running release says not who signs releases');
  const trusted = await bundleOf(options.client, 'openshift-config-managed', 'trusted-ca-bundle', signal);
  await using ways = new AsyncDisposableStack();
  const way = (ca: string | undefined): FollowingConnections => ways.use(new FollowingConnections(() => reachOf(options.proxy(), ca)));
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

function reachOf(proxy: ClusterProxy | undefined, ca: string | undefined): Reach {
  const { httpProxy: http, httpsProxy: https, noProxy: no } = proxy?.status ?? {};
  return { proxy: http || https ? { http, https, no } : undefined, ca };
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
