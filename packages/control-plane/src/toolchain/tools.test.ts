import { chmod, glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../processes/command.ts';

/** A Go that notes its calls, and leaves an empty program for each package that it is to build. */
const GO = `#!/bin/sh
folder=$(basename "$PWD")
if [ "$1" = list ]; then echo "sources of $folder" >> "$NOTES"; exit 0; fi
echo "begin $folder" >> "$NOTES"
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
for package in "$@"; do
  program=$out$(basename "$(echo "$package" | sed 's#/v[0-9]*$##')")
  echo > "$program"; chmod +x "$program"
done
sleep 0.1
echo "end $folder" >> "$NOTES"
`;

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-tools-'));
  await writeFile(join(dir, 'go'), GO);
  await chmod(join(dir, 'go'), 0o755);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Runs a script with the names of this room, and returns what it did with Go. */
async function notesOf(name: string, script: string): Promise<string[]> {
  const notes = join(dir, name);
  const program = `const { ensureTools } = await import(${JSON.stringify(new URL('./tools.ts', import.meta.url).href)}); const log = () => {}; ${script}`;
  await runCommand(process.execPath, ['--input-type=module', '--eval', program], {
    env: {
      PATH: `${dir}:/usr/bin:/bin`,
      FLOTILLA_CACHE: join(dir, `cache-${name}`),
      KUBEBUILDER_ASSETS: join(dir, 'assets'),
      NOTES: notes,
    },
  });
  return (await readFile(notes, 'utf8')).trim().split('\n');
}

test('one set is built after the other, and nothing a second time', async () => {
  const notes = await notesOf('order', `await ensureTools(['registry', 'etcd'], { log }); await ensureTools(['etcd'], { log });`);
  expect(notes.filter((note) => !note.startsWith('sources'))).toEqual(['begin etcd', 'end etcd', 'begin registry', 'end registry']);
  expect(notes.indexOf('sources of etcd')).toBeLessThan(notes.indexOf('begin etcd'));
});

test('who asks for a set that is being built in the background waits for that build', async () => {
  const asked = `ensureTools(['registry'], { log, inBackground: true }), ensureTools(['registry'], { log })`;
  const notes = await notesOf(
    'shared',
    `const [a, b] = await Promise.all([${asked}]); if (a.path('registry') !== b.path('registry')) throw new Error('two');`,
  );
  expect(notes.filter((note) => !note.startsWith('sources'))).toEqual(['begin registry', 'end registry']);
});

test('an API server is built without controllers and the programs of a node', async () => {
  await notesOf('kubernetes', `await ensureTools(['kube-apiserver'], { log })`);
  const built = await Array.fromAsync(glob('tools/*/*/*', { cwd: join(dir, 'cache-kubernetes') }));
  expect(built.map((path) => basename(path))).toEqual(['kube-apiserver']);
});
