export {
  allExcludedSentence,
  buildImageList,
  type CatalogueImage,
  handOver,
  type ImageList,
  type PullName,
  type WantedImage,
} from './image-list.ts';
export type { ImageSource, Layer, ListContent } from './image-source.ts';
export { heldLayers, imagesOfList, layerListDigest, packBits, toLayerList, unpackBits } from './layer-list.ts';
export { chainOf, judgeLayers, type StoredContent, sumLayers } from './layer-needs.ts';
export { freeBytes, type NodeNeeds, needsByReport, needsOf, RUNTIME_EXPANSION, requiredBytes } from './node-needs.ts';
export { type PullSpec, parsePullSpec, refuse, SoftwareErrorCode, SpecError } from './pull-spec.ts';
export { createRegistrySource, imageLayers } from './registry-source.ts';
