import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { FlotillaError } from '@flotilla/api';
import { build } from 'vite';

/** The page's folder. */
const HOME = fileURLToPath(new URL('../../../apps/console', import.meta.url));
const DIST = join(HOME, 'dist');
/** Bytes that a browser loads at most, compressed. */
const MOST_BYTES = 90 * 1024;

/** A page that was built. */
interface BuiltPage {
  readonly bytes: number;
  readonly compressed: number;
  /** Folders of the npm packages whose code is in it, from the repository's root. */
  readonly packageFolders: readonly string[];
}

/**
 * Builds the page of the console.
 * @param outDir its folder, which is emptied; default: the one that `flotilla console` of a checkout serves
 * @throws FlotillaError `FLOTILLA_CONSOLE_PAGE` for one that is larger than its budget
 */
export async function buildConsolePage(outDir = DIST): Promise<BuiltPage> {
  // No plug-in and no file of settings: the page has none that others need.
  const built = await build({
    root: HOME,
    configFile: false,
    logLevel: 'warn',
    // A NODE_ENV of its caller would put names of folders into the page.
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
    resolve: { conditions: ['module', 'browser', 'production'] },
    build: { outDir, emptyOutDir: true, target: 'es2024', modulePreload: false, assetsInlineLimit: 0 },
  });
  const contents = [...(await readPage(outDir)).values()];
  const size = {
    bytes: contents.reduce((sum, { length }) => sum + length, 0),
    compressed: contents.reduce((sum, content) => sum + gzipSync(content).length, 0),
  };
  if (size.compressed > MOST_BYTES)
    throw new FlotillaError('FLOTILLA_CONSOLE_PAGE', `the page has ${size.compressed} bytes compressed, at most ${MOST_BYTES} are allowed`);
  return { ...size, packageFolders: packagesOf(built) };
}

/** Packages of which something is left in the page. */
function packagesOf(built: Awaited<ReturnType<typeof build>>): string[] {
  const outputs = 'output' in built ? [built] : Array.isArray(built) ? built : [];
  const modules = outputs.flatMap(({ output }) => output.flatMap((file) => (file.type === 'chunk' ? Object.entries(file.modules) : [])));
  const folders = modules.map(([path, { renderedLength }]) =>
    renderedLength > 0 ? /node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] : undefined,
  );
  return [...new Set(folders.filter((folder) => folder !== undefined))].toSorted();
}

/** The page as a program of one file carries it. */
interface PackedPage extends Pick<BuiltPage, 'packageFolders'> {
  /** Constants for its bundler: files in base64 by path, as JSON. The program unpacks them when it serves the page. */
  readonly constants: Readonly<Record<string, string>>;
}

/** Builds the page for a program of one file. */
export async function packConsolePage(): Promise<PackedPage> {
  // Apart from the one that a command may be serving.
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-page-'));
  try {
    const { packageFolders } = await buildConsolePage(folder);
    const files = [...(await readPage(folder))].map(([path, content]) => [path, content.toString('base64')]);
    const packed = JSON.stringify(Object.fromEntries(files));
    return { constants: { FLOTILLA_CONSOLE_PAGE: JSON.stringify(packed) }, packageFolders };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The files of a built page by path. */
async function readPage(folder: string): Promise<Map<string, Buffer>> {
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
