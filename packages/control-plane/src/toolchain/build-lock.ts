import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { identify, isAlive, ProcessIdentity } from '../processes/identity.ts';

/** Held by one process at a time; disposing gives it back. */
type BuildLock = AsyncDisposable;

const Owner = z.string().transform((text, context) => {
  try {
    return ProcessIdentity.parse(JSON.parse(text));
  } catch {
    context.addIssue('not a process identity');
    return z.NEVER;
  }
});

/**
 * Takes a lock file, waiting while a living process holds it (`onWait` is called once). A lock whose owner is dead is
 * taken over.
 */
export async function takeLock(file: string, onWait: (pid: number) => void): Promise<BuildLock> {
  await mkdir(dirname(file), { recursive: true });
  let told = false;
  for (;;) {
    if (await tryCreate(file)) return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
    const owner = Owner.safeParse(await readFile(file, 'utf8').catch(() => ''));
    if (owner.success && !(await isAlive(owner.data))) {
      await rm(file, { force: true });
      continue;
    }
    if (owner.success && !told) {
      told = true;
      onWait(owner.data.pid);
    }
    await delay(200);
  }
}

async function tryCreate(file: string): Promise<boolean> {
  try {
    await using handle = await open(file, 'wx');
    await handle.writeFile(JSON.stringify(await identify(process.pid)));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}
