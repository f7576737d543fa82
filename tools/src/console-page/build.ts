import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { FlotillaError } from '@flotilla/api';
import { build, type InlineConfig, type Plugin } from 'vite';

/** The page's folder. */
const HOME = fileURLToPath(new URL('../../../apps/console', import.meta.url));
const DIST = join(HOME, 'dist');
/** Stands for `zod` in the page. */
const PAGE_ZOD = fileURLToPath(new URL('./page-zod.ts', import.meta.url));
/** Bytes of script that a browser loads at most, compressed, also for what it loads late. */
const MOST_SCRIPT = 90_000;
/** Bytes of everything else: styles, the page itself, its picture. */
const MOST_REST = 8_000;

/** A page that was built; sizes are those of its compressed files. */
interface BuiltPage {
  readonly script: number;
  readonly rest: number;
  /** Folders of the npm packages whose code is in it, from the repository's root. */
  readonly packageFolders: readonly string[];
}

/**
 * Builds the page of the console.
 * @param outDir its folder, which is emptied; default: the one that `flotilla console` of a checkout serves
 * @throws FlotillaError `FLOTILLA_CONSOLE_PAGE` for one that is larger than its budgets
 */
export async function buildConsolePage(outDir = DIST): Promise<BuiltPage> {
  const built = await build({
    ...pageSettings(),
    root: HOME,
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2024',
      modulePreload: false,
      assetsInlineLimit: 0,
    },
  });
  const size = sizeOf(await readPage(outDir));
  const excess =
    size.script > MOST_SCRIPT ? `script of ${size.script} bytes` : size.rest > MOST_REST ? `${size.rest} bytes beside script` : '';
  if (excess !== '')
    throw new FlotillaError(
      'FLOTILLA_CONSOLE_PAGE',
      `the page has ${excess} compressed, at most ${MOST_SCRIPT} and ${MOST_REST} are allowed: leave something out, or find what has grown`,
    );
  return { ...size, packageFolders: packagesOf(built) };
}

/** Settings by which code of the page is built. No file of settings: it has none that others need. */
export const pageSettings = () =>
  ({
    configFile: false,
    logLevel: 'warn',
    // A NODE_ENV of its caller would put names of folders into the page.
    define: { 'process.env.NODE_ENV': '"production"' },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
    resolve: { conditions: ['module', 'browser', 'production'], alias: [{ find: /^zod$/, replacement: PAGE_ZOD }] },
    plugins: [withoutUnused, withoutDescriptions],
  }) satisfies InlineConfig;

function sizeOf(files: ReadonlyMap<string, Buffer>): Pick<BuiltPage, 'script' | 'rest'> {
  const size = { script: 0, rest: 0 };
  for (const [path, content] of files) size[path.endsWith('.js') ? 'script' : 'rest'] += gzipSync(content).length;
  return size;
}

/** Parts of zod that nothing in the page asks for, a tenth of it: JSON Schemas, and care for values that contain themselves. */
const UNUSED = /\/zod\/v4\/core\/(?:to-json-schema|json-schema-processors|memoizer)\.js$/;
const PRELOAD = /vite\/preload-helper\.js$/;
const withoutUnused: Plugin = {
  name: 'without-unused',
  enforce: 'pre',
  load: {
    filter: { id: [UNUSED, PRELOAD] },
    async handler(id) {
      // Vite's own would load styles of what comes late; there are none.
      if (PRELOAD.test(id)) return 'export const __vitePreload = (load) => load();';
      const names = (await readFile(id, 'utf8')).matchAll(/^export (?:const|function) (\w+)/gm);
      return [...names].map(([, name]) => `export const ${name} = () => undefined;`).join('\n');
    },
  },
};

/** Descriptions of fields become documentation, which a browser has no use for. */
const withoutDescriptions: Plugin = {
  name: 'without-descriptions',
  enforce: 'pre',
  transform: {
    filter: { id: /\/packages\/api\/src\// },
    handler: (code) => ({
      code: code.replaceAll(/\.describe\(\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),?\s*\)/g, ''),
      map: null,
    }),
  },
};

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
  const { script, rest } = await buildConsolePage();
  process.stdout.write(
    `apps/console/dist, compressed: ${script} bytes of script, ${MOST_SCRIPT} allowed; ${rest} beside it, ${MOST_REST} allowed\n`,
  );
}
