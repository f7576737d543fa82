import { type ComponentImage, IMAGE_REFERENCES_PATH, imageReferencesLimits, parseImageReferences } from '@flotilla/release';
import { SoftwareErrorCode, SpecError } from './errors.ts';
import type { ImageSource } from './image-source.ts';

/**
 * Lists the components of a release image.
 * @throws SpecError when the image is no release image; ReleaseError when its references are malformed
 */
export async function listReleaseImages(
  source: ImageSource,
  releaseImage: string,
  signal: AbortSignal,
): Promise<readonly ComponentImage[]> {
  const image = await source.resolve(releaseImage, signal);
  const { bytes } = imageReferencesLimits;
  const files = await source.readFiles(image, { paths: [IMAGE_REFERENCES_PATH], maxFileBytes: bytes, maxTotalBytes: bytes }, signal);
  const content = files.get(IMAGE_REFERENCES_PATH);
  if (!content)
    throw new SpecError(
      SoftwareErrorCode.imageUnsuitable,
      `platform.image ${releaseImage} has no file ${IMAGE_REFERENCES_PATH}; name a release image`,
    );
  return parseImageReferences(content, releaseImage).images;
}
