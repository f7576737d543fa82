import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';

const ROOT = join(import.meta.dirname, '../..');
const WHEN = '2026-01-02T03:04:05Z';

/** Makes a checkout with one commit of the sources as they are now, and their node_modules. Equal sources give the same commit. */
export async function makeCheckout(folder: string): Promise<void> {
  const listed = await runCommand('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: ROOT });
  const deleted = new Set((await runCommand('git', ['ls-files', '--deleted', '-z'], { cwd: ROOT })).split('\0'));
  for (const path of new Set(listed.split('\0'))) {
    if (path === '' || deleted.has(path)) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(join(ROOT, path), join(folder, path));
  }
  await copyModules(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const author = { NAME: 'Test', EMAIL: 'test@example.com', DATE: WHEN };
  const env = Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => Object.entries(author).map(([key, value]) => [`GIT_${who}_${key}`, value])),
  );
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-q', '--no-gpg-sign', '-m', 'Release'],
  ])
    await runCommand('git', args, { cwd: folder, env });
}

/** The packages, by links where the file system has them: they are half a gigabyte. */
async function copyModules(from: string, to: string): Promise<void> {
  // The runner writes its caches here meanwhile: they are no packages, and a file that changes under `cp` fails it.
  const entries = (await readdir(from)).filter((name) => name !== '.cache' && !name.startsWith('.vite'));
  const copy = async (how: string) => {
    await mkdir(to);
    await runCommand('cp', [how, ...entries, to], { cwd: from, timeoutMs: 300_000 });
  };
  try {
    await copy('-al');
  } catch {
    // The links that were made so far would be in the way of the copies.
    await rm(to, { recursive: true });
    await copy('-a');
  }
}
