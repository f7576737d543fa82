import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleProgram } from '../../tools/src/fleets/programs.ts';
import { appImages, appNames } from '../../tools/src/images/apps.ts';

/** Bundles our programs once for all files, as their images have them: a hundred starts from the sources would take minutes of CPU. */
export default async function setup(): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-programs-'));
  await Promise.all(appNames.map((app) => bundleProgram(appImages[app], join(dir, app))));
  process.env.FLOTILLA_PROGRAMS = dir;
  return () => rm(dir, { recursive: true, force: true });
}
