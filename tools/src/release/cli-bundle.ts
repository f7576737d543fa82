import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import type { Build } from '@flotilla/runtime';
import { z } from 'zod';
import { packConsolePage } from '../console-page/build.ts';
import { bundleApp } from '../images/app-bundle.ts';

/** The command line, bundled. */
interface CliBundle {
  /** All of it in one file, which a machine has to read whole whatever is asked. */
  readonly oneFile: Buffer;
  /** The same as `main.mjs`, its starter, and beside it what is imported later. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Folders of the npm packages whose code is in it, from the repository's root, sorted. */
  readonly packageFolders: readonly string[];
}

const ENTRY = 'apps/cli/src/main.ts';
/** Starts `main.mjs` beside it, where Node is new enough for it. */
export const STARTER = 'flotilla.cjs';
const INTERPRETER = Buffer.from('#!/usr/bin/env node\n');

/** Bundles the command line with the console's page. @param source default: this repository as it is */
export async function bundleCli(root: string, source?: Build): Promise<CliBundle> {
  const { constants, ...page } = await packConsolePage();
  const prologue = nodeCheck(await minimumNode(root));
  const whole = await bundleApp(root, { entry: ENTRY, isOneFile: true, prologue, constants }, source);
  const parts = await bundleApp(root, { entry: ENTRY, constants }, source);
  const [[, oneFile] = ['', undefined], ...others] = programsIn(whole);
  if (!oneFile || others.length > 0)
    throw new FlotillaError('FLOTILLA_RELEASE_CLI', `the command line needs files beside it: ${others.map(([name]) => name).join(', ')}`);
  return {
    oneFile: executable(oneFile),
    files: new Map([...programsIn(parts), [STARTER, executable(Buffer.from(`${prologue}\nimport("./main.mjs");\n`))]]),
    packageFolders: [...new Set([...whole.packageFolders, ...page.packageFolders])].toSorted(),
  };
}

function programsIn({ files }: Awaited<ReturnType<typeof bundleApp>>): (readonly [string, Buffer])[] {
  return files.map(({ path, content }) => {
    if (typeof content !== 'object' || !('bytes' in content))
      throw new FlotillaError('FLOTILLA_RELEASE_CLI', `the command line needs ${path} beside it, which is no code`);
    return [basename(path), Buffer.from(content.bytes)] as const;
  });
}

const executable = (script: Buffer): Buffer => Buffer.concat([INTERPRETER, script]);

const Manifest = z.object({ engines: z.object({ node: z.string().regex(/^>=\d+\.\d+$/) }) });

/** Major and minor of the Node that the repository's package.json asks for. */
async function minimumNode(root: string): Promise<string> {
  return Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))).engines.node.slice('>='.length);
}

/**
 * JavaScript that any Node can run: under a Node older than `minimum` it prints one line and exits with 1.
 * @param minimum major and minor, as in `24.11`
 */
function nodeCheck(minimum: string): string {
  const [major, minor] = minimum.split('.').map(Number);
  const advice = 'Install it, or take the archive of the release that has its own Node: flotilla-VERSION-linux-amd64.tar.gz or -arm64.';
  return [
    '(function (v) {',
    `if (+v[0] > ${major} || (+v[0] === ${major} && +v[1] >= ${minor})) return;`,
    `process.stderr.write("flotilla needs Node ${minimum} or later; this is Node " + v.join(".") + " (" + process.execPath + "). ${advice}\\n");`,
    'process.exit(1);',
    '})(process.versions.node.split("."));',
  ].join(' ');
}
