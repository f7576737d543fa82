import { open, readdir } from 'node:fs/promises';
import { errorMessage, TerminalError } from '@flotilla/api';
import { PullerErrorCode } from './errors.ts';
import { nodePath } from './node-path.ts';

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
    await using file = await open(await nodePath(path), 'r');
    if (!(await file.stat()).isFile()) throw new Error('it is no file');
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let size = 0;
    for (let read = 1; read > 0 && size < buffer.length; size += read) ({ bytesRead: read } = await file.read(buffer, size));
    if (size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`);
    return buffer.toString('utf8', 0, size);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw unreadable(variable, path, error);
  }
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
