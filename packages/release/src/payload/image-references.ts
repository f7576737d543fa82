import { foreign } from '@flotilla/api';
import { z } from 'zod';
import { namesOf, quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { readManifestDocuments } from './documents.ts';

/** Where a release image keeps its image references. */
export const IMAGE_REFERENCES_PATH = 'release-manifests/image-references';

/** Limits of one `image-references` file. Today's releases: about 200 tags in 120 KB. */
export const imageReferencesLimits = { bytes: 8 * 1024 * 1024, tags: 5_000, pullSpecLength: 1_024 } as const;

/** One component of a release. */
export interface ComponentImage {
  /** Name of the component in the release, such as `etcd`. */
  readonly name: string;
  readonly pullSpec: string;
  /** `from.kind`: `DockerImage`. */
  readonly kind: string | undefined;
}

/** Components of a release, as its image lists them. */
export interface ImageReferences {
  /** `metadata.name`: the version, when given. */
  readonly version: string | undefined;
  /** `metadata.creationTimestamp`: when the release was made, when given. */
  readonly created: string | undefined;
  readonly images: readonly ComponentImage[];
}

const ImageStream = foreign(
  z.object({
    kind: z.literal('ImageStream'),
    metadata: z.object({ name: z.string().optional(), creationTimestamp: z.string().nullish() }).optional(),
    spec: z
      .object({
        tags: z
          .array(
            z.object({
              name: z.string().min(1).max(256),
              from: z.object({ kind: z.string().optional(), name: z.string() }).nullish(),
            }),
          )
          .max(imageReferencesLimits.tags)
          .nullish(),
      })
      .nullish(),
  }),
);

/** No blanks, control characters, quotes or shell signs; what it means is for the registry client to parse. */
const pullSpecShape = /^[A-Za-z0-9][A-Za-z0-9._:/@+[\]-]*$/;

/** True for a text that can be a pull spec at all, by its characters and its length. One with a scheme (`oci://`) is none: pods have no such names. */
export const isPullSpecShaped = (text: string): boolean =>
  text.length <= imageReferencesLimits.pullSpecLength && pullSpecShape.test(text) && !text.includes('://');

/**
 * Parses `release-manifests/image-references` (an ImageStream as JSON, or as YAML: spec/cvo 1.1).
 * @param source the release image, for messages
 * @param least images that there have to be; with 0 tags that name none are passed over
 * @throws ReleaseError `FLOTILLA_IMAGE_REFERENCES_INVALID` naming the field
 */
export function parseImageReferences(content: Uint8Array, source: string, { least = 1 } = {}): ImageReferences {
  const invalid = (why: string, cause?: unknown): ReleaseError =>
    new ReleaseError(
      ReleaseErrorCode.imageReferencesInvalid,
      `${IMAGE_REFERENCES_PATH} of release image ${quoted(source)} ${why}; use an image that was built as a release`,
      { cause },
    );
  if (content.byteLength > imageReferencesLimits.bytes)
    throw invalid(`has ${content.byteLength} bytes, at most ${imageReferencesLimits.bytes} are read`);
  const parsed = ImageStream.safeParse(parseDocument(content, invalid));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw invalid(`is not an ImageStream of images: ${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'wrong type'}`);
  }
  const tags = parsed.data.spec?.tags ?? [];
  if (tags.length < least) throw invalid('is not an ImageStream of images: spec.tags has none');
  const images = tags.flatMap(({ name, from }): ComponentImage[] =>
    from ? [{ name, pullSpec: from.name.trim(), kind: from.kind }] : least === 0 ? [] : [{ name, pullSpec: '', kind: undefined }],
  );
  const bad = images.filter(({ pullSpec }) => !isPullSpecShaped(pullSpec));
  if (bad.length > 0) throw invalid(`has no usable pull spec (spec.tags[].from.name) for ${namesOf(bad.map(({ name }) => quoted(name)))}`);
  const { name: version, creationTimestamp } = parsed.data.metadata ?? {};
  return { version, created: creationTimestamp ?? undefined, images };
}

function parseDocument(content: Uint8Array, invalid: (why: string, cause?: unknown) => ReleaseError): unknown {
  try {
    const [document] = readManifestDocuments(content);
    return JSON.parse(document?.raw ?? 'null');
  } catch (cause) {
    throw invalid('is neither JSON nor YAML', cause);
  }
}
