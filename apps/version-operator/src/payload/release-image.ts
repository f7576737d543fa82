import {
  FileCache,
  parseDockerConfig,
  parseImageReference,
  parseRegistriesConf,
  RegistryClient,
  readLayerFiles,
  resolveImage,
} from '@flotilla/registry';
import { isPayloadPath, type PayloadFile, payloadLimits } from '@flotilla/release';
import { type Logger, readOptionFile } from '@flotilla/runtime';
import type { OperatorConfig } from '../config.ts';

interface ReleaseImageOptions {
  readonly client: RegistryClient;
  /** Folder for the files of releases that were read; none are kept without it. */
  readonly cacheFolder?: string;
  readonly logger: Logger;
}

/** Reads files of release images. */
export interface ReleaseImages {
  /**
   * Files of the release in an image. Named by digest they are read once and then kept, so that they are at hand when no registry is.
   * @param pinned digests of releases that are not dropped for this one
   * @throws RegistryError
   */
  read(pullSpec: string, signal: AbortSignal, pinned?: ReadonlySet<string>): Promise<readonly PayloadFile[]>;
  /** True when an image is of the same repository as another one, or of a mirror of it. @throws RegistryError */
  isOfRepository(pullSpec: string, other: string): boolean;
}

/** Reads releases from registries through a cache. */
export function releaseImages({ client, cacheFolder, logger }: ReleaseImageOptions): ReleaseImages {
  const { fileBytes: maxFileBytes, totalBytes: maxTotalBytes } = payloadLimits;
  const cache = cacheFolder === undefined ? undefined : new FileCache({ folder: cacheFolder, maxFileBytes });
  return {
    isOfRepository(pullSpec, other) {
      const { host, repository } = parseImageReference(pullSpec);
      return client.placesOf(parseImageReference(other)).has(`${host}/${repository}`);
    },
    async read(pullSpec, signal, pinned) {
      const reference = parseImageReference(pullSpec);
      const kept = reference.digest === undefined ? undefined : await cache?.read(reference.digest);
      if (kept) return toPayloadFiles(kept);
      const image = await resolveImage(client, reference, { signal });
      const files = await readLayerFiles(client, image, { match: isPayloadPath, maxFileBytes, maxTotalBytes, signal });
      // a release that cannot be kept can be applied all the same
      if (reference.digest !== undefined)
        await cache
          ?.write(reference.digest, files, pinned)
          .catch((err: unknown) => logger.warn({ err, release: pullSpec }, 'Keeping the files of a release failed'));
      return toPayloadFiles(files);
    },
  };
}

const toPayloadFiles = (files: ReadonlyMap<string, Buffer>): PayloadFile[] => [...files].map(([path, content]) => ({ path, content }));

/**
 * Opens the way to registries of release images.
 * @throws FlotillaError `FLOTILLA_CONFIG` for a file that cannot be read, and what its content is refused for
 */
export async function openRegistries(config: OperatorConfig): Promise<RegistryClient> {
  const [pullSecret, ca, registries] = await Promise.all([
    readOptionFile('--pull-secret', config.pullSecret),
    readOptionFile('--registry-ca', config.registryCa),
    readOptionFile('--registries-conf', config.registriesConf),
  ]);
  const { httpProxy: http, httpsProxy: https, noProxy: no } = config;
  return new RegistryClient({
    credentials: pullSecret === undefined ? undefined : parseDockerConfig(pullSecret),
    rules: registries === undefined ? [] : parseRegistriesConf([{ name: config.registriesConf ?? '', text: registries }]),
    ca,
    proxy: { http, https, no },
    insecureHosts: config.insecureRegistries,
    userAgent: 'flotilla-version-operator',
  });
}
