import type { ImageList } from './image-list.ts';

/** Size of an image list. */
interface ListSize {
  readonly images: number;
  /** Layers, each once. */
  readonly layers: number;
  /** Their compressed bytes. */
  readonly bytes: number;
}

/** Sums a list up; a layer that several images share is stored, and pulled, once. Manifests and configurations are not counted. */
export function sizeOfList({ images }: Pick<ImageList, 'images'>): ListSize {
  const layers = new Map(images.flatMap((image) => image.layers.map(({ digest, size }) => [digest, size] as const)));
  return { images: images.length, layers: layers.size, bytes: [...layers.values()].reduce((sum, size) => sum + size, 0) };
}
