import { readFile } from 'node:fs/promises';
import { z } from 'zod';

/** One process for certain: a pid is used again, its start time with it is not. */
export const ProcessIdentity = z.object({ pid: z.int().positive(), startTime: z.string() });
export type ProcessIdentity = z.output<typeof ProcessIdentity>;

/** Identity of a process; undefined when there is none with this pid (a zombie counts as none). */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  if (process.platform !== 'linux') return isPidAlive(pid) ? { pid, startTime: 'unknown' } : undefined;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses and may hold spaces: count from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : { pid, startTime: fields[19] ?? 'unknown' };
}

/** True while exactly this process runs, and no later one with its pid. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.startTime === identity.startTime;
}

function isPidAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
