import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

declare const FLOTILLA_VERSION: string;
declare const FLOTILLA_COMMIT: string;

/** Names of the constants that a bundler replaces with this build's version and commit. */
export const BUILD_CONSTANTS = { version: 'FLOTILLA_VERSION', commit: 'FLOTILLA_COMMIT' } as const;

/** The sources that a program was built from. */
export interface Build {
  readonly version: string;
  /** Commit in full; `unknown` where neither bundler nor git says one. */
  readonly commit: string;
}

/** The build of this program: what the bundler put in, or in a checkout what package.json and git say. */
export const readBuild = (): Build =>
  typeof FLOTILLA_VERSION === 'undefined' ? buildOfCheckout() : { version: FLOTILLA_VERSION, commit: FLOTILLA_COMMIT };

/** The line that `--version` prints. */
export function versionLine(program: string, { version, commit }: Build = readBuild()): string {
  return `${program} ${version} (commit ${commit})`;
}

function buildOfCheckout(): Build {
  // A literal URL would make the bundler look for the file beside the bundle.
  const root = join(import.meta.dirname, '../../..');
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  return { version, commit: commitOf(root) };
}

function commitOf(root: string): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    // A downloaded source archive has no history.
    return 'unknown';
  }
}
