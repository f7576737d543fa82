import { quoted } from '../errors.ts';
import { IMAGE_REFERENCES_PATH } from './image-references.ts';

/** One file of a payload. */
export interface PayloadFile {
  /** From the payload's root, with slashes. */
  readonly path: string;
  readonly content: Uint8Array;
}

/** Folders and files of a payload, from its root. */
export const PayloadPath = {
  /** Manifests of the version operator itself: templates. */
  own: 'manifests',
  /** Manifests of all other operators. */
  release: 'release-manifests',
  metadata: 'release-manifests/release-metadata',
  imageReferences: IMAGE_REFERENCES_PATH,
} as const;

/** Limits of a payload. Today's largest: 1,000 files, 17 MB, one file of 1.5 MB. */
export const payloadLimits = { files: 20_000, fileBytes: 4 * 1024 * 1024, totalBytes: 256 * 1024 * 1024 } as const;

/** True for a path that a payload is read from; exported for readers of an image's layers. */
export const isPayloadPath = (path: string): boolean => {
  const [folder, name, ...deeper] = path.split('/');
  return (folder === PayloadPath.own || folder === PayloadPath.release) && name !== undefined && name !== '' && deeper.length === 0;
};

/** A part of a payload that cannot be read, or not as it is meant. */
export interface PayloadProblem {
  /** A warning harms nothing else. */
  readonly level: 'error' | 'warning';
  readonly rule: 'layout' | 'metadata' | 'template' | 'manifest';
  /** Its file; of what is missing, where it should be. */
  readonly path: string;
  readonly message: string;
  /** Default: the line that the message names, else the first. */
  readonly line?: number;
  readonly cause?: unknown;
}

/** Takes each problem; what it is about is left out when it returns. */
export type OnProblem = (problem: PayloadProblem) => void;

/** The files of a payload by what they are. */
interface PayloadLayout {
  readonly metadata: PayloadFile | undefined;
  readonly imageReferences: PayloadFile | undefined;
  /** Files of manifests in load order: the operator's own, then all others, each folder by name. */
  readonly manifests: readonly PayloadFile[];
}

/** Puts the files of a payload in order; those of other folders and deeper ones are passed over. */
export async function readLayout(files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>, onProblem: OnProblem): Promise<PayloadLayout> {
  const tell = (path: string, why: string) => onProblem({ level: 'error', rule: 'layout', path, message: `the payload ${why}` });
  const found = new Map<string, PayloadFile>();
  let [bytes, isFull] = [0, false];
  for await (const file of files) {
    const { path, content } = file;
    const size = content.byteLength;
    if (isTricky(path)) tell(path, `has the path ${quoted(path)}; name files from the root of the payload, without . and ..`);
    else if (!isPayloadPath(path)) continue;
    else if (found.has(path)) tell(path, `has the file ${quoted(path)} twice; keep one of them`);
    else if (size > payloadLimits.fileBytes)
      tell(path, `has ${size} bytes in ${quoted(path)}, at most ${payloadLimits.fileBytes} are read; split the file`);
    else if (found.size < payloadLimits.files && bytes + size <= payloadLimits.totalBytes) {
      bytes += size;
      found.set(path, file);
    } else if (!isFull) {
      isFull = true;
      const most = `${payloadLimits.files} files or ${payloadLimits.totalBytes} bytes`;
      tell(path, `has more than ${most}; use a folder or image that holds nothing but a release`);
    }
  }
  const missing = (path: string, what = path) =>
    tell(path, `has no ${what}; give the root of a release: it holds ${PayloadPath.own}/ and ${PayloadPath.release}/`);
  for (const folder of [PayloadPath.own, PayloadPath.release])
    if (![...found.keys()].some((path) => path.startsWith(`${folder}/`))) missing(folder, `folder ${folder}/`);
  const [metadata, imageReferences] = [found.get(PayloadPath.metadata), found.get(PayloadPath.imageReferences)];
  if (!metadata) missing(PayloadPath.metadata);
  if (!imageReferences) missing(PayloadPath.imageReferences);
  return { metadata, imageReferences, manifests: manifestPaths([...found.keys()]).flatMap((path) => found.get(path) ?? []) };
}

const isTricky = (path: string): boolean =>
  path.length > 1024 || /[\\\0]/.test(path) || path.split('/').some((part) => part === '' || part === '.' || part === '..');

/** Paths of manifests in load order: the operator's own, then all others, each folder by the bytes of its names. */
function manifestPaths(paths: readonly string[]): string[] {
  const manifests = paths.filter((path) => /\.(?:yaml|yml|json)$/.test(path));
  const inFolder = (folder: string) => manifests.filter((path) => path.startsWith(`${folder}/`));
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [PayloadPath.own, PayloadPath.release].flatMap((folder) => inFolder(folder).sort(byBytes));
}
