/** The built page: that of a release is in the program, that of a checkout is built where there is none. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { z } from 'zod';

/** Files by path, in base64; the bundler of a release puts it in. */
declare const FLOTILLA_CONSOLE_PAGE: string;

const Packed = z.record(z.string().regex(/^[\w-]+(?:[./][\w-]+)*$/), z.base64());

/** A folder with the page. */
interface PageFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * The folder that holds the page.
 * @param say hears that it is built first
 * @throws FlotillaError `FLOTILLA_CONSOLE_PAGE` when it cannot be built
 */
export async function openPage(say: (line: string) => void): Promise<PageFolder> {
  if (typeof FLOTILLA_CONSOLE_PAGE !== 'undefined') return unpack(Packed.parse(JSON.parse(FLOTILLA_CONSOLE_PAGE)));
  const root = join(import.meta.dirname, '../../../..');
  const path = join(root, 'apps/console/dist');
  if (!existsSync(join(path, 'index.html'))) {
    say('Building the page, once');
    await build(join(root, 'tools/src/console-page/build.ts'));
  }
  return { path, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function unpack(files: z.output<typeof Packed>): Promise<PageFolder> {
  const path = await mkdtemp(join(tmpdir(), 'flotilla-console-'));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), Buffer.from(content, 'base64'));
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function build(script: string): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, [script], { timeout: 120_000 });
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_CONSOLE_PAGE', `the page cannot be built: ${errorMessage(cause)}; see npm run console:page`, {
      cause,
    });
  }
}
