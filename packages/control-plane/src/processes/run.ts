import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { readEnvironment } from '../environment.ts';
import { ServerStartError } from '../errors.ts';
import { hasCgroup, removeCgroups, runCgroup } from './cgroups.ts';
import { identify, isAlive, ProcessIdentity } from './identity.ts';

/** One process that starts servers: everything it makes lies in `dir`, or below a name with `id` in it. */
export interface Run {
  /** Six hexadecimal digits. */
  readonly id: string;
  readonly dir: string;
}

/** Text by which a network link is found again: the run it belongs to. */
export const linkAlias = (runId: string): string => `flotilla-${runId}`;

/** Folder of all runs of this user. */
const runsFolder = (): string => join(tmpdir(), `flotilla-${process.getuid?.() ?? 'user'}`);

const OWNER_FILE = 'owner.json';

let current: Promise<Run> | undefined;

/** The run of this process; made at the first call, which also removes what dead runs left. */
export function currentRun(): Promise<Run> {
  current ??= createRun();
  return current;
}

/** Makes an empty folder for one server or cluster. */
export async function createRunFolder(name: string): Promise<string> {
  const run = await currentRun();
  const dir = join(run.dir, `${name}-${randomBytes(3).toString('hex')}`);
  await mkdir(dir, { recursive: true, mode: 0o755 });
  return dir;
}

/** Removes such a folder; with `FLOTILLA_DEBUG` it stays for a look. */
export async function removeRunFolder(dir: string): Promise<void> {
  if (!readEnvironment().keepFolders) await rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

async function createRun(): Promise<Run> {
  await mkdir(runsFolder(), { recursive: true, mode: 0o755 });
  // The name can be guessed, and everybody may write beside it: servers with secrets go only into a folder of our own.
  const { uid } = await lstat(runsFolder());
  if (uid !== process.getuid?.())
    throw new ServerStartError(`${runsFolder()} belongs to user ${uid}: remove it, or set TMPDIR to another folder`);
  await sweepLeftovers();
  const id = randomBytes(3).toString('hex');
  const dir = join(runsFolder(), id);
  // The folder appears together with its owner: one without an owner is what a broken-off removal left.
  const making = join(runsFolder(), `.${id}`);
  await mkdir(making, { recursive: true, mode: 0o755 });
  await writeFile(join(making, OWNER_FILE), JSON.stringify(await identify(process.pid)));
  await rename(making, dir);
  process.once('exit', () => removeAtExit({ id, dir }));
  return { id, dir };
}

function removeAtExit({ id, dir }: Run): void {
  // The containers of a cluster that nobody stopped end after this: by the folder the next run finds their cgroups.
  if (readEnvironment().keepFolders || hasCgroup(runCgroup(id))) return;
  try {
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A server that is being ended may still write; the next run removes the rest.
  }
}

const Owner = z.string().transform((text) => ProcessIdentity.parse(JSON.parse(text)));

/**
 * Removes what runs left whose process is dead, killed with SIGKILL for example, and returns their ids. Their servers and
 * clusters are gone by then (the kernel ends them with their parent): what stays are folders and cgroups.
 */
export async function sweepLeftovers(): Promise<string[]> {
  const swept: string[] = [];
  for (const id of await readdir(runsFolder()).catch(() => [])) {
    const dir = join(runsFolder(), id);
    if (id.startsWith('.') || (await hasLivingOwner(dir))) continue;
    await removeCgroups(runCgroup(id));
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    swept.push(id);
  }
  return swept;
}

async function hasLivingOwner(dir: string): Promise<boolean> {
  try {
    return await isAlive(Owner.parse(await readFile(join(dir, OWNER_FILE), 'utf8')));
  } catch (error) {
    // A folder that cannot be read for another reason stays, because it may be somebody's.
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
}
