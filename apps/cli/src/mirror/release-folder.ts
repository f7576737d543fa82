import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';

/** Name of the list of a release's files. */
const CHECKSUMS = 'SHA256SUMS';
/** Files that a message names at most. */
const SHOWN = 10;

/**
 * Compares a release's files with its list, so that a bad copy is not published.
 * @throws FlotillaError `FLOTILLA_MIRROR_INCOMPLETE` naming the files that are missing or differ
 */
export async function checkRelease(folder: string): Promise<void> {
  const list = await readFile(join(folder, CHECKSUMS), 'utf8').catch(() => undefined);
  if (list === undefined) throw incomplete(folder, [`${CHECKSUMS} is missing`]);
  const wrong: string[] = [];
  for (const line of list.split('\n').filter(Boolean)) {
    const [, sha256, path] = /^([0-9a-f]{64}) {2}([\w@+-][\w@+./-]*)$/.exec(line) ?? [];
    if (sha256 === undefined || path === undefined || path.split('/').includes('..'))
      wrong.push(`${CHECKSUMS} has the line "${line.slice(0, 100)}"`);
    else {
      const found = await digestOf(join(folder, path));
      if (found !== sha256) wrong.push(`${path} ${found === undefined ? 'is missing' : 'differs'}`);
    }
  }
  if (list.trim() === '') wrong.push(`${CHECKSUMS} is empty`);
  if (wrong.length > 0) throw incomplete(folder, wrong);
}

const incomplete = (folder: string, wrong: readonly string[]): FlotillaError => {
  const more = wrong.length > SHOWN ? ` and ${wrong.length - SHOWN} more` : '';
  const text = `${folder} is no whole release: ${wrong.slice(0, SHOWN).join('; ')}${more}; copy it again`;
  return new FlotillaError('FLOTILLA_MIRROR_INCOMPLETE', text);
};

async function digestOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    return hash.digest('hex');
  } catch {
    return undefined;
  }
}
