import { createHash, randomUUID } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { isDigest } from './image-reference.ts';

/** Names of an entry and of an unfinished one. */
const ENTRY = /^[a-f0-9]{64}$/;
const UNFINISHED = /^\.[a-f0-9-]{36}\.tmp$/;
/** Milliseconds after which an unfinished writer counts as killed. */
const ABANDONED_MS = 60 * 60_000;

/** The sha256 digest of these bytes, as registries write it. */
export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/**
 * Writes a file or a folder under another name first, so that it appears whole or not at all.
 * @param fill writes what is unfinished, and says where it belongs
 */
export async function writeWhole(unfinished: string, fill: (unfinished: string) => Promise<string>): Promise<void> {
  try {
    await rename(unfinished, await fill(unfinished));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/** Reads a plain file of at most so many bytes; undefined for anything else. */
export async function readWhole(path: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, 'r');
    const found = await file.stat();
    return found.isFile() && found.size <= maxBytes ? await file.readFile() : undefined;
  } catch {
    return undefined;
  }
}

interface DigestEntry {
  readonly path: string;
  readonly digest: string;
  readonly size: number;
  readonly usedMs: number;
}

/** A cache folder whose entries are named by digests. An entry is made under another name first, so it appears whole or not at all. */
export class DigestFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  entryOf(digest: string): string {
    if (!isDigest(digest)) throw new RegistryError(RegistryErrorCode.badReference, `"${digest.slice(0, 100)}" is not a sha256 digest`);
    return join(this.path, digest.slice('sha256:'.length));
  }

  unfinished(): string {
    return join(this.path, `.${randomUUID()}.tmp`);
  }

  /** Lists the entries, the last used first, and removes what killed writers left. */
  async entries(): Promise<DigestEntry[]> {
    const entries: DigestEntry[] = [];
    for (const name of await readdir(this.path)) {
      const path = join(this.path, name);
      const found = ENTRY.test(name) || UNFINISHED.test(name) ? await stat(path).catch(() => undefined) : undefined;
      if (found && ENTRY.test(name)) entries.push({ path, digest: `sha256:${name}`, size: found.size, usedMs: found.mtimeMs });
      else if (found && found.mtimeMs < Date.now() - ABANDONED_MS) await rm(path, { recursive: true, force: true });
    }
    return entries.sort((a, b) => b.usedMs - a.usedMs);
  }
}
