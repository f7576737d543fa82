import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';

/** On a busy machine killed processes leave their cgroup late. */
const REMOVE_WITHIN_MS = 20_000;

/** Cgroup of a run: everything its clusters' containers are in lies below. */
export const runCgroup = (runId: string): string => `/flotilla-${runId}`;

/** Cgroup of a cluster, the parent of all its containers; `dir` is the cluster's folder in the run's. */
export const clusterCgroup = (dir: string): string => `${runCgroup(basename(dirname(dir)))}/${basename(dir)}`;

/** A cgroup and all below it, parents first, in every hierarchy (one in cgroup v2, one per controller in v1). */
export async function findCgroups(cgroup: string): Promise<string[]> {
  return (await Promise.all((await hierarchies()).map((root) => treeOf(join(root, cgroup))))).flat();
}

/** True when a cgroup is there in any hierarchy; it is synchronous, because nothing can be awaited at the end of a process. */
export function hasCgroup(cgroup: string): boolean {
  return existsSync(ROOT) && ['', ...readdirSync(ROOT)].some((name) => existsSync(join(ROOT, name, cgroup)));
}

/** Makes the cgroup of a cluster in every hierarchy, such that processes and further cgroups may go into it. */
export async function createClusterCgroup(dir: string): Promise<void> {
  const cgroup = clusterCgroup(dir);
  for (const root of await hierarchies()) {
    if (!existsSync(join(root, 'cgroup.procs'))) continue;
    for (const folder of [join(root, dirname(cgroup)), join(root, cgroup)]) {
      await passControllersOn(dirname(folder));
      await mkdir(folder, { recursive: true });
      for (const file of ['cpuset.cpus', 'cpuset.mems']) await inherit(folder, file);
    }
    await passControllersOn(join(root, cgroup));
  }
}

/** Version 2: what a cgroup's children may use. Not all of it can be had on every machine, and a kubelet says what it misses. */
async function passControllersOn(folder: string): Promise<void> {
  const controllers = (await readFile(join(folder, 'cgroup.controllers'), 'utf8').catch(() => '')).trim().split(/\s+/).filter(Boolean);
  for (const controller of controllers) await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`).catch(() => undefined);
}

/** Version 1: a new cpuset is empty, and takes no process until it is filled. */
async function inherit(folder: string, file: string): Promise<void> {
  const [own, parents] = await Promise.all(
    [folder, dirname(folder)].map((each) => readFile(join(each, file), 'utf8').catch(() => undefined)),
  );
  if (own?.trim() === '' && parents) await writeFile(join(folder, file), parents);
}

/** Removes the cgroups of a cluster, and those of its run when it was the last one with containers. */
export async function removeClusterCgroups(dir: string): Promise<void> {
  const cgroup = clusterCgroup(dir);
  await removeCgroups(cgroup);
  // Fails, as it should, while another cluster has containers.
  for (const root of await hierarchies()) await rmdir(join(root, dirname(cgroup))).catch(() => undefined);
}

/** Kills every process in a cgroup and below, and removes all of it; what cannot be removed in time stays. */
export async function removeCgroups(cgroup: string): Promise<void> {
  const end = performance.now() + REMOVE_WITHIN_MS;
  for (let wait = 0; ; wait = 50) {
    const folders = await findCgroups(cgroup);
    if (folders.length === 0 || performance.now() > end) return;
    for (const folder of folders) await killProcesses(folder);
    for (const folder of folders.reverse()) await rmdir(folder).catch(() => undefined);
    await delay(wait);
  }
}

async function killProcesses(folder: string): Promise<void> {
  const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')).split('\n').map(Number);
  for (const pid of pids) {
    // 0 is a process of another pid namespace, and would be our own group to `kill`.
    if (!(pid > 0)) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile, or may not be killed: then its cgroup stays.
    }
  }
}

async function hierarchies(): Promise<string[]> {
  const entries = await readdir(ROOT, { withFileTypes: true }).catch(() => []);
  return [ROOT, ...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(ROOT, name))];
}

async function treeOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (!entries) return [];
  const below = await Promise.all(entries.filter((entry) => entry.isDirectory()).map(({ name }) => treeOf(join(folder, name))));
  return [folder, ...below.flat()];
}
