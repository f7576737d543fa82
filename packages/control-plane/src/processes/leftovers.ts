import { readdir, readFile } from 'node:fs/promises';
import { z } from 'zod';
import { findCgroups, runCgroup } from './cgroups.ts';
import { runCommand } from './command.ts';
import { linkAlias, type Run } from './run.ts';

/** Remains of a run on the machine; every list is empty after everything was stopped. */
interface Leftovers {
  /** `pid command line` */
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly links: readonly string[];
  /** Named network namespaces. */
  readonly namespaces: readonly string[];
  readonly cgroups: readonly string[];
  /** Folders of servers and clusters in the run's folder. */
  readonly folders: readonly string[];
}

/** Looks for what a run left, on the whole machine. */
export async function leftovers(run: Run): Promise<Leftovers> {
  const folders = (await readdir(run.dir, { withFileTypes: true }).catch(() => [])).filter((entry) => entry.isDirectory());
  const [processes, mounts, links, namespaces, cgroups] = await Promise.all([
    findProcesses(run),
    readFile('/proc/mounts', 'utf8').then(
      (text) => text.split('\n').filter((line) => line.includes(run.dir)),
      () => [],
    ),
    findLinks(linkAlias(run.id)),
    readdir('/run/netns').catch(() => []),
    findCgroups(runCgroup(run.id)),
  ]);
  return {
    processes,
    mounts,
    links,
    namespaces: namespaces.filter((name) => name.includes(run.id)),
    cgroups,
    folders: folders.map(({ name }) => name),
  };
}

/** Processes that name the run's folder, and those in its cgroups. */
async function findProcesses(run: Run): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [command, groups] = await Promise.all([read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/cgroup`)]);
      const isOurs = command.includes(run.dir) || groups.includes(`${runCgroup(run.id)}/`);
      return isOurs ? [`${pid} ${command.replaceAll('\0', ' ').slice(0, 200)}`] : [];
    }),
  );
  return found.flat();
}

const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

const Links = z.array(z.looseObject({ ifname: z.string(), ifalias: z.string().optional() }));

async function findLinks(alias: string): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const links = Links.parse(JSON.parse((await runCommand('ip', ['-j', 'link', 'show'])) || '[]'));
  return links.filter(({ ifalias }) => ifalias === alias).map(({ ifname }) => ifname);
}
