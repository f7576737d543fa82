export { type HostileRegistry, startHostileRegistry } from './hostile-registry.ts';
export { type LayerFile, type WrittenLayer, writeImage, writeIndex, writeLayer } from './image-writer.ts';
export { MemoryBlobs } from './memory-blobs.ts';
export { pushFiles } from './push-files.ts';
export { QUIRKS, type Quirk } from './registry-quirks.ts';
export { type ServedImage, serveImage } from './serve-image.ts';
