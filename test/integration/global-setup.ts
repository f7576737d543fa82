import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { startServerPool } from '@flotilla/control-plane/servers';
import type { TestProject } from 'vitest/node';
import { buildConsolePage } from '../../tools/src/console-page/build.ts';
import { type AppImage, appImages, appNames } from '../../tools/src/images/apps.ts';
import { bundleProgram } from '../support/programs.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder with our programs as their images have them. */
    readonly programs: string;
    /** Address of the run's pool of API servers. */
    readonly apiServers: string;
  }
}

/** The console's image starts the command line. */
const folderOf = ({ entry }: AppImage): string => basename(resolve(entry, '../..'));

/** What all files share: programs, bundled once, and API servers, each handed on when a file has ended. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-programs-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  await Promise.all(appNames.map((name) => bundleProgram(appImages[name], join(dir, folderOf(appImages[name])))));
  // One of an earlier state of the sources would be served as it is.
  await buildConsolePage();
  project.provide('programs', dir);
  project.provide('apiServers', stack.use(await startServerPool()).address);
  return () => stack.disposeAsync();
}
