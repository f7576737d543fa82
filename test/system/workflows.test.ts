import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, '.github/workflows');
const Step = z.looseObject({ run: z.string().optional(), uses: z.string().optional() });
const Strategy = z.looseObject({ matrix: z.looseObject({ include: z.array(z.looseObject({ script: z.string() })) }) });
const Workflow = z.looseObject({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(z.string(), z.looseObject({ steps: z.array(Step), 'timeout-minutes': z.number(), strategy: Strategy.optional() })),
});
const files = await readdir(FOLDER);

test('actionlint has nothing to say of the workflows', async () => {
  expect(files.toSorted()).toEqual(['nightly.yml', 'release.yml', 'test.yml']);
  const actionlint = (await ensureTools(['actionlint'])).path('actionlint');
  // Other linters count only where they are installed, so the result would depend on the machine.
  const options = ['-shellcheck=', '-pyflakes=', ...files.map((file) => join(FOLDER, file))];
  expect(await runCommand(actionlint, options, { cwd: ROOT })).toBe('');
});

test.each(files)('%s calls npm scripts that are there, and nothing else', async (file) => {
  const { jobs, permissions } = Workflow.parse(parse(await readFile(join(FOLDER, file), 'utf8')));
  expect(permissions).toEqual({ contents: 'read' });
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
  const runs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
  expect(
    runs.filter(
      (run) => !/^npm (ci|test|run \S+( -- [^;&|\n]+)?|run \$\{\{ matrix\.script \}\} -- \$\{\{ matrix\.options \}\})$/.test(run),
    ),
  ).toEqual([]);
  const inMatrix = Object.values(jobs).flatMap(({ strategy }) => strategy?.matrix.include.map(({ script }) => script) ?? []);
  const called = [...runs.flatMap((run) => /^npm (?:run )?([\w:-]+)/.exec(run)?.[1] ?? []), ...inMatrix].filter(
    (word) => word !== 'ci' && word !== 'run',
  );
  expect(called.filter((word) => !(word in scripts))).toEqual([]);
  expect(called.length).toBeGreaterThan(0);
});
