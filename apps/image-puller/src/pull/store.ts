import type { PullerReport } from '@flotilla/api/ran';
import type { Layer, ListContent, PullName, StoredContent } from '@flotilla/software';
import type { Pins } from '../content/pins.ts';
import type { NeededImage } from '../content/presence.ts';
import type { StoreUsage } from '../space/space.ts';

/** Fetches the blobs of an image: this program, or the runtime in its own pull. */
export type FetchedBy = NonNullable<PullerReport['fetchedBy']>;

/** Store of images. */
export interface ImageStore extends AsyncDisposable {
  /** Name for messages. */
  readonly description: string;
  /** Name and version of the runtime; absent where there is none. */
  readonly runtime?: string;
  /** The store may find an image that we do not, for example by its own mirrors. */
  readonly findsImages: boolean;
  /** Fetches blobs for this store, as long as it can. */
  readonly fetchedBy: FetchedBy;
  /** Keeps what is read for the list, so that it is not fetched again; absent where the store cannot. */
  readonly listContent?: ListContent | undefined;
  /** Finds what the store lacks of the image under this name, as the registry has it now; undefined when it is whole. */
  findLoss(image: NeededImage, signal: AbortSignal): Promise<string | undefined>;
  /** Digests that this name means in the store, the index's or the manifest's; empty when it is not there. */
  digestsOf(pullSpec: string, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Pulls under exactly this name, and returns who fetched the blobs.
   * @throws StoreError, NoSpaceError or RegistryError
   */
  pull(name: PullName, layers: readonly Layer[], signal: AbortSignal): Promise<FetchedBy>;
  /** Measures the file system of the store. */
  usage(signal: AbortSignal): Promise<StoreUsage>;
  /** Removes blobs that were found cut, so that a pull brings them again; absent where the store has no way to. */
  dropCut?(signal: AbortSignal): Promise<void>;
  /** Pins images; absent where the runtime has no way to. */
  readonly pins?: Pins | undefined;
  /** Lets go of what is held for a later run: all is pulled, or the node needs the space. */
  release?(): Promise<void>;
  /** Reads what the store has of these layers, by the rule that its pulls go by. */
  stored(images: readonly { readonly layers: readonly Layer[] }[], signal: AbortSignal): Promise<StoredContent>;
  /** Returns the stored or arriving bytes of layers; unknown layers are absent. */
  layerBytes(layers: readonly Layer[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
}
