export { type ImageParts, listImageParts } from './image-graph.ts';
export {
  type Compression,
  type ImageInput,
  type LayerFile,
  type LayerInput,
  type WrittenLayer,
  writeImage,
  writeIndex,
  writeLayer,
} from './image-writer.ts';
export { type PushOptions, type PushResult, pushImage } from './push.ts';
export { type ServedImage, serveImage } from './serve-image.ts';
