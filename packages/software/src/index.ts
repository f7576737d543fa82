export { SoftwareErrorCode, SpecError } from './errors.ts';
export { buildImageList, handOver, type ImageList, type PullName, type WantedImage } from './image-list.ts';
export type { ImageSource, Layer, ListContent } from './image-source.ts';
export { type PullSpec, parsePullSpec, refuse } from './pull-spec.ts';
export { createRegistrySource } from './registry-source.ts';
export { sizeOfList } from './sizes.ts';
