import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { errorMessage, TerminalError } from '@flotilla/api';
import { PullerErrorCode } from './errors.ts';

/** Largest file: trust bundles of distributions have some hundred KiB, pull secrets of clusters some KiB. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Largest number of entries in a folder. */
const MAX_ENTRIES = 1_000;

/**
 * Reads a text file of the node; undefined when it is missing. `variable` names its setting.
 * @throws TerminalError `FLOTILLA_PULLER_CONFIG_INVALID` when it is too large, no file or unreadable
 */
export async function readSmallFile(path: string, variable: string): Promise<string | undefined> {
  try {
    return (await readBounded(await nodePath(path), MAX_FILE_BYTES)).toString('utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw unreadable(variable, path, error);
  }
}

/** Reads a whole file. Throws where it is no file, or has more bytes. */
export async function readBounded(path: string, most: number): Promise<Buffer> {
  await using file = await open(path);
  if (!(await file.stat()).isFile()) throw new Error('it is no file');
  const buffer = Buffer.alloc(most + 1);
  let size = 0;
  for (let read = 1; read > 0 && size < buffer.length; size += read) ({ bytesRead: read } = await file.read(buffer, size));
  if (size > most) throw new RangeError(`it has more than ${most} bytes`);
  return buffer.subarray(0, size);
}

/**
 * Lists the names in a folder, sorted; empty when it is missing.
 * @throws TerminalError when there are too many, or it is unreadable
 */
export async function listFolder(path: string, variable: string): Promise<string[]> {
  try {
    const names = await readdir(await nodePath(path));
    if (names.length > MAX_ENTRIES) throw new Error(`it has more than ${MAX_ENTRIES} entries`);
    return names.sort();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw unreadable(variable, path, error);
  }
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');

const unreadable = (variable: string, path: string, error: unknown): TerminalError =>
  new TerminalError(PullerErrorCode.configInvalid, `${variable}: ${path} cannot be read: ${errorMessage(error)}`, { cause: error });

/** Folder of the pod below which the node's paths are mounted. */
const NODE_ROOT = '/host';
/** Links in one path, as the kernel bounds them. */
const MAX_LINKS = 40;

/**
 * Follows the links of a node's file as the node does: an absolute one leads below `root` too. Ends at the first part that is missing. Other paths are
 * returned unchanged.
 */
export async function nodePath(path: string, root = NODE_ROOT): Promise<string> {
  if (!path.startsWith(`${root}/`)) return path;
  const rest = path.slice(root.length).split('/').filter(Boolean);
  let at = '/';
  for (let links = 0; rest.length > 0; ) {
    const next = posix.join(at, rest.shift() ?? '');
    const target = await linkOf(root + next);
    if (target === undefined) at = next;
    else if (++links > MAX_LINKS) return path;
    else {
      rest.unshift(...target.split('/').filter(Boolean));
      if (target.startsWith('/')) at = '/';
    }
  }
  return root + at;
}

/** Place that a path leads to by its links; undefined where it is no link. */
export async function leadsTo(path: string): Promise<string | undefined> {
  const target = await nodePath(path);
  if (target !== path) return target;
  const link = await linkOf(path);
  return link === undefined ? undefined : posix.resolve(posix.dirname(path), link);
}

/** A path of this pod as the node has it. */
export const onNode = (path: string): string => (path.startsWith(`${NODE_ROOT}/`) ? path.slice(NODE_ROOT.length) : path);

/** Target of a link; undefined for anything else. */
async function linkOf(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() ? readlink(path) : undefined;
}
