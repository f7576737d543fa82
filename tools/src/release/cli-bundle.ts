import { basename } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import type { Build } from '@flotilla/runtime';
import { packConsolePage } from '../console-page/build.ts';
import { bundleApp } from '../images/app-bundle.ts';

/** The command line, bundled. */
interface CliBundle {
  /** All of it in one file, which a machine has to read whole whatever is asked. */
  readonly oneFile: Buffer;
  /** What is imported later in files beside `main.mjs`, by name: `--help` reads fifteen kilobytes. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Folders of the npm packages whose code is in it, from the repository's root, sorted. */
  readonly packageFolders: readonly string[];
}

const ENTRY = 'apps/cli/src/main.ts';
const INTERPRETER = Buffer.from('#!/usr/bin/env node\n');

/** Bundles the command line with the console's page. @param source default: this repository as it is */
export async function bundleCli(root: string, source?: Build): Promise<CliBundle> {
  const { constants, ...page } = await packConsolePage();
  const whole = await bundleApp(root, { entry: ENTRY, isOneFile: true, constants }, source);
  const parts = await bundleApp(root, { entry: ENTRY, constants }, source);
  const [[, oneFile] = ['', undefined], ...others] = programsIn(whole);
  if (!oneFile || others.length > 0)
    throw new FlotillaError('FLOTILLA_RELEASE_CLI', `the command line needs files beside it: ${others.map(([name]) => name).join(', ')}`);
  return {
    oneFile,
    files: new Map(programsIn(parts)),
    packageFolders: [...new Set([...whole.packageFolders, ...page.packageFolders])].toSorted(),
  };
}

function programsIn({ files }: Awaited<ReturnType<typeof bundleApp>>): (readonly [string, Buffer])[] {
  return files.map(({ path, content }) => {
    if (typeof content !== 'object' || !('bytes' in content))
      throw new FlotillaError('FLOTILLA_RELEASE_CLI', `the command line needs ${path} beside it, which is no code`);
    const [name, bytes] = [basename(path), Buffer.from(content.bytes)];
    return [name, name === 'main.mjs' ? Buffer.concat([INTERPRETER, bytes]) : bytes] as const;
  });
}
