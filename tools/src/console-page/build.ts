import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { FlotillaError } from '@flotilla/api';
import { build } from 'vite';

/** The page's folder. */
const HOME = fileURLToPath(new URL('../../../apps/console', import.meta.url));
/** Bytes that a browser loads at most, compressed. */
const MOST_BYTES = 90 * 1024;

/** Sizes of the files of a page. */
interface PageSize {
  readonly bytes: number;
  readonly compressed: number;
}

/**
 * Builds the page of the console into `apps/console/dist`.
 * @throws FlotillaError `FLOTILLA_CONSOLE_PAGE` for one that is larger than its budget
 */
export async function buildConsolePage(): Promise<PageSize> {
  // No plug-in and no file of settings: the page has none that others need.
  await build({ root: HOME, configFile: false, logLevel: 'warn', build: { target: 'es2024', modulePreload: false, assetsInlineLimit: 0 } });
  const contents = [...(await readPage()).values()];
  const size = {
    bytes: contents.reduce((sum, { length }) => sum + length, 0),
    compressed: contents.reduce((sum, content) => sum + gzipSync(content).length, 0),
  };
  if (size.compressed > MOST_BYTES)
    throw new FlotillaError('FLOTILLA_CONSOLE_PAGE', `the page has ${size.compressed} bytes compressed, at most ${MOST_BYTES} are allowed`);
  return size;
}

/** The files of the built page by path. */
export async function readPage(): Promise<Map<string, Buffer>> {
  const folder = join(HOME, 'dist');
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  const files = await Promise.all(paths.map(async (path) => [relative(folder, path).replaceAll(sep, '/'), await readFile(path)] as const));
  return new Map(files);
}

if (import.meta.main) {
  const { bytes, compressed } = await buildConsolePage();
  const kib = (count: number) => `${(count / 1024).toFixed(1)} KiB`;
  process.stdout.write(`apps/console/dist: ${kib(bytes)}, ${kib(compressed)} compressed of ${kib(MOST_BYTES)} allowed\n`);
}
