/** One compressed layer. */
export interface Layer {
  readonly digest: string;
  /** Bytes as transferred. */
  readonly size: number;
}

/** What a pull spec stands for now. */
export interface ResolvedImage {
  /** The pull spec that was resolved. */
  readonly pullSpec: string;
  /** Digest of this platform's manifest: what makes two images the same image. */
  readonly digest: string;
  /** Digest that the tag or reference itself names: of the index, where there is one. */
  readonly referenceDigest: string;
  readonly layers: readonly Layer[];
  readonly labels: Readonly<Record<string, string>>;
}

/** What to read from the layers of an image; give `match` or `paths`. */
interface FileSelection {
  readonly match?: (path: string) => boolean;
  /** Exact paths: layers below the one that has them all are not fetched. */
  readonly paths?: readonly string[];
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
}

/** The registry as the list needs it. */
export interface ImageSource {
  /** Bytes of blobs read so far. */
  readonly bytesRead: number;
  resolve(pullSpec: string, signal: AbortSignal): Promise<ResolvedImage>;
  readFiles(image: ResolvedImage, selection: FileSelection, signal: AbortSignal): Promise<ReadonlyMap<string, Uint8Array>>;
}
