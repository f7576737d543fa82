import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { readBuild } from '@flotilla/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { bundleApp } from '../../tools/src/images/app-bundle.ts';

const ROOT = join(import.meta.dirname, '../..');
const programs = [
  { app: 'cli', name: 'flotilla' },
  { app: 'hub', name: 'hub' },
  { app: 'image-puller', name: 'image-puller' },
  { app: 'spoke-agent', name: 'spoke-agent' },
  { app: 'upgrade-operator', name: 'upgrade-operator' },
  { app: 'version-operator', name: 'version-operator' },
];

test.each(programs)(
  '$app says version and commit, in a checkout and bundled',
  async ({ app, name }) => {
    const entry = `apps/${app}/src/main.ts`;
    const { version, commit } = readBuild();
    const checkout = await runCommand(process.execPath, [join(ROOT, entry), '--version']);
    expect(checkout).toBe(`${name} ${version} (commit ${commit})\n`);

    const folder = await mkdtemp(join(tmpdir(), 'flotilla-version-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const { path, content } of (await bundleApp(ROOT, { entry }, { version: '7.8.9', commit: 'c0ffee' })).files) {
      if (typeof content !== 'object' || !('bytes' in content)) continue;
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content.bytes);
    }
    const bundled = await runCommand(process.execPath, [join(folder, 'app/main.mjs'), '--version'], { cwd: folder });
    expect(bundled).toBe(`${name} 7.8.9 (commit c0ffee)\n`);
  },
  60_000,
);
