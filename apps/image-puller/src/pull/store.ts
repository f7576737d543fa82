import type { Layer, PullName } from '@flotilla/software';
import type { StoreUsage } from '../space/space.ts';

/** Store of images. */
export interface ImageStore extends AsyncDisposable {
  /** Name for messages. */
  readonly description: string;
  /** The store may find an image that we do not, for example by its own mirrors. */
  readonly findsImages: boolean;
  /** True when the store has the image under this name, as the registry has it now. */
  has(name: PullName, signal: AbortSignal): Promise<boolean>;
  /**
   * Pulls under exactly this name.
   * @throws StoreError, NoSpaceError or RegistryError
   */
  pull(name: PullName, layers: readonly Layer[], signal: AbortSignal): Promise<void>;
  /** Measures the file system of the store. */
  usage(signal: AbortSignal): Promise<StoreUsage>;
  /** Returns the stored or arriving bytes of layers; unknown layers are absent. */
  layerBytes(layers: readonly Layer[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
}
