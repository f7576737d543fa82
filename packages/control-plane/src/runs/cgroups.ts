import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';

/** Folder in which containerd's runtime keeps one folder per container; it outlives a killed runtime. */
const TASKS = 'run/containerd/state/io.containerd.runtime.v2.task/k8s.io';

/** Ids of the containers a cluster ran when it was ended; `dir` is the cluster's folder. */
export const containersOf = (dir: string): Promise<string[]> => foldersIn(join(dir, TASKS));

/** The cgroups of containers that are still there, in every hierarchy (one in cgroup v2, one per controller in v1). */
export async function findCgroups(containers: Iterable<string>): Promise<string[]> {
  const wanted = new Set(containers);
  if (wanted.size === 0) return [];
  const found: string[] = [];
  for (const parent of await containerParents()) {
    for (const name of await foldersIn(parent)) if (wanted.has(name)) found.push(join(parent, name));
  }
  return found;
}

/** Removes the cgroups of containers whose processes are gone, and their parent when it is empty then. */
export async function removeCgroups(containers: Iterable<string>): Promise<void> {
  const wanted = [...containers];
  // The kernel empties a cgroup a moment after its last process has ended.
  for (let attempt = 0; attempt < 40; attempt += 1) {
    const folders = await findCgroups(wanted);
    if (folders.length === 0) break;
    for (const folder of folders) await removeTree(folder);
    await delay(attempt && 50);
  }
  // Fails, as it should, while another cluster has containers.
  for (const parent of await containerParents()) await rmdir(parent).catch(() => undefined);
}

/** runc's parent of all pods' containers when the kubelet keeps no quality-of-service groups. */
async function containerParents(): Promise<string[]> {
  const roots = [ROOT, ...(await foldersIn(ROOT)).map((name) => join(ROOT, name))];
  const parents = await Promise.all(roots.map(async (root) => ((await foldersIn(root)).includes('k8s.io') ? [join(root, 'k8s.io')] : [])));
  return parents.flat();
}

async function removeTree(folder: string): Promise<void> {
  for (const name of await foldersIn(folder)) await removeTree(join(folder, name));
  await rmdir(folder).catch(() => undefined);
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}
