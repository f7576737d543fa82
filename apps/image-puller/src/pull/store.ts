import type { PullName } from '../list/image-list.ts';
import type { Layer } from '../list/image-source.ts';
import type { StoreUsage } from '../space/space.ts';

/** Where images go. */
export interface ImageStore extends AsyncDisposable {
  /** What it is, for messages. */
  readonly description: string;
  /** Whether it may find an image by ways of its own where we do not. */
  readonly findsImages: boolean;
  /** Whether the image is there under this name and is what the registry has under it now. */
  has(name: PullName, signal: AbortSignal): Promise<boolean>;
  /** Pulls under exactly this name. @throws StoreError, NoSpaceError or RegistryError */
  pull(name: PullName, layers: readonly Layer[], signal: AbortSignal): Promise<void>;
  /** The file system behind the store. */
  usage(signal: AbortSignal): Promise<StoreUsage>;
  /** Bytes of layers that are there or on their way in; layers it cannot tell about are absent. */
  layerBytes(layers: readonly Layer[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
}
