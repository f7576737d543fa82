import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { PrecacheSpecKey } from '@flotilla/api/ran';
import { type PullSpec, parsePullSpec, refuse } from '@flotilla/software';

/** Bound of a whole ConfigMap: 1 MiB. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Reads the spec from a mounted ConfigMap: one file for each key.
 * @throws SpecError when the folder or a file cannot be read or does not parse
 */
export async function readPullSpec(dir: string): Promise<PullSpec> {
  const found = await stat(dir).catch(() => undefined);
  if (!found?.isDirectory())
    throw refuse('*', `cannot be read: there is no folder ${dir}; mount ConfigMap pre-cache-spec there or set CONFIG_VOLUME_PATH`);
  const entries = await Promise.all(Object.values(PrecacheSpecKey).map(async (key) => [key, await readKey(dir, key)] as const));
  return parsePullSpec(Object.fromEntries(entries.filter(([, value]) => value !== undefined)));
}

async function readKey(dir: string, key: string): Promise<string | undefined> {
  try {
    await using file = await open(join(dir, key));
    const info = await file.stat();
    if (!info.isFile()) throw refuse(key, 'is not a file');
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_FILE_BYTES + 1), 0, MAX_FILE_BYTES + 1, 0);
    if (bytesRead > MAX_FILE_BYTES) throw refuse(key, `has more than ${MAX_FILE_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    if (error instanceof TypeError) throw refuse(key, 'is not UTF-8 text', error);
    throw error instanceof Error && 'code' in error && String(error.code).startsWith('FLOTILLA_')
      ? error
      : refuse(key, `cannot be read: ${errorMessage(error)}`, error);
  }
}
