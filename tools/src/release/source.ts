import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { runCommand } from '@flotilla/control-plane/processes';
import type { Build } from '@flotilla/runtime';
import { z } from 'zod';

/** The commit that a release is made of. */
export interface ReleaseSource extends Build {
  /** Seconds since 1970 of the commit: the only time in a release. */
  readonly committedAt: number;
}

/** Semantic version without build metadata: a tag of a registry cannot have a plus sign. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** Throws `FLOTILLA_RELEASE_USAGE` for a text that is no version of a release. */
export function checkVersion(version: string): void {
  if (VERSION.test(version) && version.length <= 64) return;
  throw new FlotillaError('FLOTILLA_RELEASE_USAGE', `--version ${version}: must be a semantic version such as 1.2.3 or 1.2.3-rc.1`);
}

const Manifest = z.object({ repository: z.url() });

/** Address of the repository, by its package.json. */
export async function repositoryOf(root: string): Promise<string> {
  return Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))).repository;
}

/** Reads the commit of a clean checkout. Throws `FLOTILLA_RELEASE_DIRTY` naming the files that no commit has. */
export async function releaseSource(root: string, version: string): Promise<ReleaseSource> {
  const changed = (await git(root, 'status', '--porcelain')).split('\n').filter(Boolean);
  if (changed.length > 0) {
    const shown = changed.slice(0, 5).map((line) => line.slice(3));
    const more = changed.length > shown.length ? ` and ${changed.length - shown.length} more` : '';
    throw new FlotillaError('FLOTILLA_RELEASE_DIRTY', `no commit has what is in ${shown.join(', ')}${more}: commit or remove it`);
  }
  const [commit = '', seconds] = (await git(root, 'log', '-1', '--format=%H %ct')).trim().split(' ');
  return { version, commit, committedAt: Number(seconds) };
}

async function git(root: string, ...args: string[]): Promise<string> {
  try {
    return await runCommand('git', args, { cwd: root });
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_RELEASE_SOURCE', `${root} is no git checkout with a commit: a release is made of one`, { cause });
  }
}
