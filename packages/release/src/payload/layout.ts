import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
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

/** The files of a payload by what they are. */
export interface PayloadLayout {
  readonly metadata: PayloadFile;
  readonly imageReferences: PayloadFile;
  /** Files of manifests in load order: the operator's own, then all others, each folder by name. */
  readonly manifests: readonly PayloadFile[];
}

/**
 * Puts the files of a payload in order; those of other folders and deeper ones are passed over.
 * @throws ReleaseError `FLOTILLA_PAYLOAD_INVALID` for a missing file, a path that leaves its folder, a file twice, and what is too large
 */
export async function readLayout(files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>): Promise<PayloadLayout> {
  const found = new Map<string, PayloadFile>();
  let bytes = 0;
  for await (const file of files) {
    refusePathTricks(file.path);
    if (!isPayloadPath(file.path)) continue;
    if (found.has(file.path)) throw invalidPayload(`has the file ${quoted(file.path)} twice`, 'keep one of them');
    if (file.content.byteLength > payloadLimits.fileBytes)
      throw invalidPayload(
        `has ${file.content.byteLength} bytes in ${quoted(file.path)}, at most ${payloadLimits.fileBytes} are read`,
        'split the file',
      );
    bytes += file.content.byteLength;
    found.set(file.path, file);
    if (found.size > payloadLimits.files || bytes > payloadLimits.totalBytes)
      throw invalidPayload(
        `has more than ${payloadLimits.files} files or ${payloadLimits.totalBytes} bytes`,
        'use a folder or image that holds nothing but a release',
      );
  }
  return inOrder(found);
}

function refusePathTricks(path: string): void {
  const parts = path.split('/');
  if (path.length > 1024 || /[\\\0]/.test(path) || parts.some((part) => part === '' || part === '.' || part === '..'))
    throw invalidPayload(`has the path ${quoted(path)}`, 'name files from the root of the payload, without . and ..');
}

function inOrder(found: ReadonlyMap<string, PayloadFile>): PayloadLayout {
  for (const folder of [PayloadPath.own, PayloadPath.release])
    if (![...found.keys()].some((path) => path.startsWith(`${folder}/`))) throw missing(`folder ${folder}/`);
  const [metadata, imageReferences] = [found.get(PayloadPath.metadata), found.get(PayloadPath.imageReferences)];
  if (!metadata) throw missing(PayloadPath.metadata);
  if (!imageReferences) throw missing(PayloadPath.imageReferences);
  return { metadata, imageReferences, manifests: manifestPaths([...found.keys()]).flatMap((path) => found.get(path) ?? []) };
}

/** Paths of manifests in load order: the operator's own, then all others, each folder by the bytes of its names. */
export function manifestPaths(paths: readonly string[]): string[] {
  const manifests = paths.filter((path) => /\.(?:yaml|yml|json)$/.test(path));
  const inFolder = (folder: string) => manifests.filter((path) => path.startsWith(`${folder}/`));
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [PayloadPath.own, PayloadPath.release].flatMap((folder) => inFolder(folder).sort(byBytes));
}

const missing = (what: string): ReleaseError =>
  invalidPayload(`has no ${what}`, `give the root of a release: it holds ${PayloadPath.own}/ and ${PayloadPath.release}/`);

/** A payload that cannot be used: what is wrong, and the fix. */
export function invalidPayload(why: string, fix: string, cause?: unknown): ReleaseError {
  return new ReleaseError(ReleaseErrorCode.payloadInvalid, `the payload ${why}; ${fix}`, { cause });
}
