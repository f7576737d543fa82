import { foreign } from '@flotilla/api';
import { z } from 'zod';
import { RegistryError, RegistryErrorCode, type RegistryErrorDetails } from './errors.ts';
import { Platform } from './platform.ts';

/** Media types this package reads and writes. */
export const MediaType = {
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociConfig: 'application/vnd.oci.image.config.v1+json',
  ociLayer: 'application/vnd.oci.image.layer.v1.tar',
  ociLayerGzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  ociLayerZstd: 'application/vnd.oci.image.layer.v1.tar+zstd',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
} as const;

/** Bytes of the largest manifest or index: the limit of registries themselves. */
export const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;
/** Bytes of the largest image configuration. */
export const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

const digest = z.string().regex(/^sha256:[a-f0-9]{64}$/, 'must be sha256: and 64 hexadecimal digits');

/** A typed pointer to content (OCI image-spec, descriptor). */
export const Descriptor = z.object({
  mediaType: z.string().max(255).default('').describe('What the content is.'),
  digest: digest.describe('sha256 of the content.'),
  size: z
    .int()
    .min(0)
    .max(2 ** 40)
    .default(0)
    .describe('Bytes as transferred (compressed).'),
  annotations: z.record(z.string(), z.string()).optional(),
  urls: z.array(z.string()).optional().describe('Addresses outside of the registry, which runtimes ask first.'),
  platform: Platform.optional(),
});
export type Descriptor = z.output<typeof Descriptor>;

/** Used part of an image manifest, OCI or Docker schema 2. As in Go, an image may have no layers. */
export const ImageManifest = z.object({
  config: Descriptor,
  layers: z.array(Descriptor).max(1024).default([]),
});
export type ImageManifest = z.output<typeof ImageManifest>;

const Entry = foreign(Descriptor);

/** Used part of an image index or Docker manifest list. An entry that cannot be read is no choice, and costs the others nothing. */
export const ImageIndex = z.object({
  manifests: z
    .array(z.unknown())
    .max(4096)
    .default([])
    .transform((entries) =>
      entries.flatMap((entry): Descriptor[] => {
        const { data } = Entry.safeParse(entry);
        return data ? [data] : [];
      }),
    ),
});
export type ImageIndex = z.output<typeof ImageIndex>;

/** Used part of an image configuration. Artifacts may have an empty one. */
export const ImageConfig = z.looseObject({
  os: z.string().optional(),
  architecture: z.string().optional(),
  variant: z.string().optional(),
  created: z.string().optional(),
  config: z
    .looseObject({
      Env: z.array(z.string()).nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      Cmd: z.array(z.string()).nullish(),
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Labels: z.record(z.string(), z.string()).nullish(),
    })
    .nullish(),
  rootfs: z.looseObject({ type: z.string().optional(), diff_ids: z.array(z.string()).default([]) }).optional(),
});
export type ImageConfig = z.output<typeof ImageConfig>;

/** True for an index of several images. */
export const isIndexType = (mediaType: string): boolean => mediaType === MediaType.ociIndex || mediaType === MediaType.dockerIndex;

/** True for an index or an image, as opposed to other content. */
export const isImageType = (mediaType: string): boolean =>
  isIndexType(mediaType) || mediaType === MediaType.ociManifest || mediaType === MediaType.dockerManifest;

/** `Accept` of every manifest request. */
export const MANIFEST_ACCEPT = [MediaType.ociIndex, MediaType.dockerIndex, MediaType.ociManifest, MediaType.dockerManifest].join(', ');

/**
 * Parses JSON from a registry.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_MANIFEST` naming the first wrong field.
 */
export function parseDocument<T>(what: string, bytes: Buffer, schema: z.ZodType<T>, details: RegistryErrorDetails = {}): T {
  const refuse = (problem: string) =>
    new RegistryError(RegistryErrorCode.badManifest, `${what}${details.image ? ` of ${details.image}` : ''}: ${problem}`, details);
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw refuse('is not JSON');
  }
  const parsed = foreign(schema).safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw refuse(`${issue?.path.join('.') || 'document'}: ${issue?.message ?? 'does not fit'}`);
}

/** Derives a manifest's media type from its content when header and document declare none. */
export function manifestTypeOf(bytes: Buffer, declared: string | undefined, details: RegistryErrorDetails): string {
  const shape = z.object({
    mediaType: z.string().optional(),
    manifests: z.unknown().optional(),
    layers: z.unknown().optional(),
    config: z.unknown().optional(),
  });
  const document = parseDocument('manifest', bytes, shape, details);
  const known: readonly string[] = [MediaType.ociIndex, MediaType.dockerIndex, MediaType.ociManifest, MediaType.dockerManifest];
  const own = document.mediaType || undefined;
  const type = own ?? declared?.split(';')[0]?.trim();
  if (type !== undefined && known.includes(type)) return type;
  if (own === undefined && document.manifests != null) return MediaType.ociIndex;
  if (own === undefined && (document.layers != null || document.config != null)) return MediaType.ociManifest;
  throw new RegistryError(
    RegistryErrorCode.badManifest,
    `manifest of ${details.image}: type "${type?.slice(0, 100) ?? 'none'}" is not supported; push the image again as OCI or Docker schema 2`,
    details,
  );
}
