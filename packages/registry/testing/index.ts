export { listImageParts } from './image-graph.ts';
export { type LayerFile, type WrittenLayer, writeImage, writeIndex, writeLayer } from './image-writer.ts';
export { pushImage } from './push.ts';
export { type ServedImage, serveImage } from './serve-image.ts';
