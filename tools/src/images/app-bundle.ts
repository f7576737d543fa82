import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, posix, relative, resolve } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import type { LayerFile } from '@flotilla/registry/testing';
import { BUILD_CONSTANTS, type Build, readBuild } from '@flotilla/runtime';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { z } from 'zod';
import { type AppImage, EXTERNALS } from './apps.ts';

/** Packages written for CommonJS call `require`, which an ES module does not have. */
const BANNER = "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);";

/** Form of a program of several files. */
const MODULES = {
  outExtension: { '.js': '.mjs' },
  // what is imported only when it is needed lies apart, and takes no memory until then
  splitting: true,
  format: 'esm',
  target: 'node24',
  banner: { js: BANNER },
} as const satisfies BuildOptions;

/** Oldest Node that reads a program of one file whole, and so comes to its prologue. */
const OLDEST_READER = 'node12.22';

const oneFile = (prologue = '') =>
  ({
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    target: OLDEST_READER,
    banner: { js: `"use strict";${prologue}` },
    logOverride: { 'empty-import-meta': 'error' },
  }) as const satisfies BuildOptions;

/** A program to bundle. */
interface Bundled extends Partial<AppImage> {
  readonly entry: string;
  /** Keep what is imported later in the one file, as CommonJS that an older Node reads too, though it cannot run it. Default false. */
  readonly isOneFile?: boolean;
  /** First statements of the one file. */
  readonly prologue?: string;
  /** More constants that are put in, as JSON texts. */
  readonly constants?: Readonly<Record<string, string>>;
}

/** A program, bundled. */
interface AppBundle {
  readonly files: readonly LayerFile[];
  /** Folders of the npm packages whose code is in it, from the repository's root, sorted. */
  readonly packageFolders: readonly string[];
}

/**
 * Bundles one program into `/app/main.mjs`, with what it imports later and the files it finds by path beside it, or into `/app/main.cjs` alone.
 * Without `from` it says the version and commit of this repository. Independent of the machine: the same commit gives the same bytes wherever the repository lies.
 * Throws `FLOTILLA_IMAGES_BUNDLE` naming the module that is missing or the file that cannot be placed.
 */
export async function bundleApp(root: string, app: Bundled, from: Build = readBuild()): Promise<AppBundle> {
  if (!existsSync(join(root, app.entry))) throw new FlotillaError('FLOTILLA_IMAGES_BUNDLE', `${app.entry} does not exist`);
  const result = await build({
    absWorkingDir: root,
    entryPoints: [{ in: app.entry, out: 'main' }],
    outdir: 'app',
    ...(app.isOneFile ? oneFile(app.prologue) : MODULES),
    write: false,
    bundle: true,
    platform: 'node',
    external: [...EXTERNALS],
    plugins: [kubeconfigAlone, englishAlone],
    define: {
      [BUILD_CONSTANTS.version]: JSON.stringify(from.version),
      [BUILD_CONSTANTS.commit]: JSON.stringify(from.commit),
      ...(app.isOneFile && { 'import.meta.dirname': '__dirname' }),
      ...app.constants,
    },
    // Names stay: stack traces and error classes are read by people and by code.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'eof',
    metafile: true,
    logLevel: 'silent',
  }).catch((cause: unknown) => {
    throw new FlotillaError('FLOTILLA_IMAGES_BUNDLE', `cannot bundle ${app.entry}`, { cause });
  });
  if (result.outputFiles.length === 0) throw new FlotillaError('FLOTILLA_IMAGES_BUNDLE', `bundling ${app.entry} gave no output`);
  const modules = result.outputFiles.map(({ path, contents }) => ({
    path: relative(root, path).replaceAll('\\', '/'),
    content: { bytes: asciiOf(contents) },
  }));
  const inputs = Object.keys(result.metafile.inputs);
  return {
    files: [...modules, ...(await locatedFiles(root, inputs))],
    packageFolders: packageFolders(Object.values(result.metafile.outputs).flatMap((output) => Object.entries(output.inputs))),
  };
}

/** One letter beyond ASCII doubles the memory that a program's text takes as long as it runs; esbuild leaves some in comments alone. */
const asciiOf = (contents: Uint8Array): Buffer =>
  Buffer.from(
    Buffer.from(contents)
      .toString('utf8')
      .replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );

/** Packages of which something is left in the output; what was read and shaken off is not in the image. */
function packageFolders(inputs: readonly [string, { readonly bytesInOutput: number }][]): string[] {
  const folders = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  return [...new Set(folders)].toSorted();
}

/** Names that licences and notices have in npm packages. */
const LICENCE = /^(licen[cs]e|copying|notice)([.-](?!.*\.[cm]?js$).*)?$/i;

/** The licence texts of bundled packages as one text, by package; a package without one is named with what its package.json says. */
export async function licenceTexts(root: string, folders: readonly string[]): Promise<string> {
  const sections = folders.map(async (folder) => {
    const { name, version, license } = PackageFile.parse(JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')));
    const files = (await readdir(join(root, folder))).filter((file) => LICENCE.test(file)).toSorted();
    const texts = await Promise.all(files.map((file) => readFile(join(root, folder, file), 'utf8')));
    return [`==== ${name} ${version} (${license ?? 'see below'})`, ...texts.map((text) => text.trim())].join('\n\n');
  });
  return `${(await Promise.all(sections)).join('\n\n')}\n`;
}

const PackageFile = z.looseObject({ name: z.string(), version: z.string(), license: z.string().optional() });

/** How a module names a file that lies beside it. In a bundle the same words mean a file beside the bundle. */
const LOCATED = /new URL\(\s*(['"])(?<path>\.{1,2}\/[^'"]+)\1\s*,\s*import\.meta\.url\s*\)/g;

/** Files the bundled modules find by `new URL('./x', import.meta.url)`: `.proto`, `.wasm`, data. */
async function locatedFiles(root: string, inputs: readonly string[]): Promise<LayerFile[]> {
  const origins = new Map<string, string>();
  const files: LayerFile[] = [];
  for (const input of inputs.filter((one) => /\.[cm]?[jt]s$/.test(one))) {
    const source = await readFile(resolve(root, input), 'utf8');
    for (const { groups } of source.matchAll(LOCATED)) {
      const named = groups?.path ?? '';
      const file = resolve(root, dirname(input), named);
      // Modules are in the bundle already (worker files would not be: none of our dependencies has one it needs).
      if (!existsSync(file) || /\.[cm]?[jt]s$/.test(named)) continue;
      const path = posix.join('app', named);
      const earlier = origins.get(path);
      if (earlier === file) continue;
      if (earlier !== undefined || !path.startsWith('app/')) {
        const why = earlier === undefined ? 'it would lie outside /app' : `another file has its place: ${earlier}`;
        throw new FlotillaError('FLOTILLA_IMAGES_BUNDLE', `${input} locates ${named}, but ${why}; name it './<unique name>'`);
      }
      origins.set(path, file);
      files.push({ path, content: { bytes: await readFile(file) } });
    }
  }
  return files;
}

const GENERATED = 'generated-client';

/**
 * Bundles the kubeconfig of the Kubernetes client without its 850 generated modules, of which it uses two: esbuild would read all of them, and keep
 * half a megabyte that it cannot prove unused. A module that has moved fails the build.
 */
const kubeconfigAlone: Plugin = {
  name: 'kubeconfig-alone',
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ kind, resolveDir }) =>
      build.resolve('@kubernetes/client-node/dist/config.js', { kind, resolveDir }),
    );
    build.onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer, resolveDir }) =>
      importer.endsWith('client-node/dist/config.js')
        ? { path: 'index', namespace: GENERATED, pluginData: join(resolveDir, 'gen') }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: GENERATED }, ({ pluginData }) => ({
      contents: "export { createConfiguration } from './configuration.js'; export { ServerConfiguration } from './servers.js';",
      resolveDir: pluginData,
    }));
  },
};

/** Bundles one of zod's 63 languages: a namespace has them all, so esbuild cannot prove that nobody asks for the others (300 kB). */
const englishAlone: Plugin = {
  name: 'english-alone',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path }) => ({
      contents: "export { default as en } from './en.js';",
      resolveDir: dirname(path),
    }));
  },
};
