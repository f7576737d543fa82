import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundleProgram } from '../../tools/src/fleets/programs.ts';
import { appImages, appNames } from '../../tools/src/images/apps.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder with our programs as their images have them. */
    readonly programs: string;
  }
}

/** Bundles our programs once for all files: a hundred starts from the sources would take minutes of CPU. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-programs-'));
  await Promise.all(appNames.map((app) => bundleProgram(appImages[app], join(dir, app))));
  project.provide('programs', dir);
  return () => rm(dir, { recursive: true, force: true });
}
