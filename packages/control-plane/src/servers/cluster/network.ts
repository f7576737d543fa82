import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { CommandError, ServerStartError } from '../../errors.ts';
import { runCommand } from '../../processes/command.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { linkAlias } from '../../processes/run.ts';
import type { NodeSpace } from './node-space.ts';

/** The two links between this machine and a cluster. */
export interface ClusterNetwork {
  /** Number of the cluster on this machine, 1 to 250; part of its addresses and link names. */
  readonly index: number;
  /** The cluster on the wide area link; what other clusters and pods use. */
  readonly address: string;
  /** This machine on the wide area link, as seen from inside. */
  readonly gatewayAddress: string;
  /** The cluster on the administration link: the API server answers there also while the wide area link is cut. */
  readonly adminAddress: string;
  /** Shapes the wide area link in both directions, `20mbit` for example; undefined takes the limit off. */
  setRate(rate: string | undefined): Promise<void>;
  /** Bytes of frames that wait at this end of the shaped wide area link: they were sent to the cluster, and cross whatever becomes of their receiver. */
  queuedBytes(): Promise<number>;
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Removes the links; none is left is fine. */
  remove(): Promise<void>;
}

const wanLink = (index: number) => `flw${index}`;
const adminLink = (index: number) => `fla${index}`;

/**
 * Connects a node's namespaces with this machine. The names of the links are the lock: the first number whose link can
 * be made is ours. Throws ServerStartError when none of the 250 is free.
 */
export async function connectNode(space: NodeSpace, runId: string): Promise<ClusterNetwork> {
  const index = await claimIndex(space, runId);
  const network = clusterNetwork(space, index);
  try {
    await addAdminLink(space, index, runId);
    await configureLinks(space, index);
    return network;
  } catch (error) {
    await network.remove();
    throw error;
  }
}

async function claimIndex(space: NodeSpace, runId: string): Promise<number> {
  const first = randomInt(250);
  for (let i = 0; i < 250; i += 1) {
    const index = 1 + ((first + i) % 250);
    if (await addLink(space, wanLink(index), 'wan0', runId)) return index;
  }
  throw new ServerStartError('no free link number: 250 clusters run on this machine, or their links were left behind; look at `ip link`');
}

async function addLink(space: NodeSpace, name: string, inside: string, runId: string): Promise<boolean> {
  try {
    await runCommand('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', inside, 'netns', String(space.pid)]);
  } catch (error) {
    if (error instanceof CommandError && error.message.includes('File exists')) return false;
    throw error;
  }
  await runCommand('ip', ['link', 'set', name, 'alias', linkAlias(runId)]);
  return true;
}

async function addAdminLink(space: NodeSpace, index: number, runId: string): Promise<void> {
  if (!(await addLink(space, adminLink(index), 'adm0', runId))) throw new ServerStartError(`link ${adminLink(index)} exists already`);
}

const wan = (index: number, host: 1 | 2) => `10.79.${index}.${host}`;
const admin = (index: number, host: 1 | 2) => `10.80.${index}.${host}`;

async function configureLinks(space: NodeSpace, index: number): Promise<void> {
  const outside = [
    ['addr', 'add', `${wan(index, 1)}/24`, 'dev', wanLink(index)],
    ['addr', 'add', `${admin(index, 1)}/24`, 'dev', adminLink(index)],
    ['link', 'set', wanLink(index), 'up'],
    ['link', 'set', adminLink(index), 'up'],
  ];
  const inside = [
    ['addr', 'add', `${wan(index, 2)}/24`, 'dev', 'wan0'],
    ['addr', 'add', `${admin(index, 2)}/24`, 'dev', 'adm0'],
    ['link', 'set', 'wan0', 'up'],
    ['link', 'set', 'adm0', 'up'],
    ['route', 'add', 'default', 'via', wan(index, 1)],
  ];
  const batch = (commands: string[][]) => ({ input: commands.map((words) => words.join(' ')).join('\n') });
  await runCommand('ip', ['-batch', '-'], batch(outside));
  await space.run('ip', ['-batch', '-'], batch(inside));
  // Forwarding is switched on for this link alone, and ends with it: clusters reach each other through this machine.
  await writeFile(`/proc/sys/net/ipv4/conf/${wanLink(index)}/forwarding`, '1');
  await closeAdminLink(space, admin(index, 1));
}

/**
 * Through the administration link goes what this machine asks and the answer: node and pods cannot start anything there, and
 * other clusters, whose packets this machine would pass on, get nothing.
 */
async function closeAdminLink(space: NodeSpace, machine: string): Promise<void> {
  for (const rule of [
    ['-I', 'FORWARD', '-o', 'adm0', '-j', 'DROP'],
    ['-I', 'FORWARD', '-i', 'adm0', '-j', 'DROP'],
    ['-I', 'INPUT', '-i', 'adm0', '!', '-s', machine, '-j', 'DROP'],
    ['-A', 'OUTPUT', '-o', 'adm0', '-m', 'conntrack', '--ctstate', 'NEW', '-j', 'DROP'],
  ]) {
    await space.run('iptables', ['-w', '5', ...rule]);
  }
}

function clusterNetwork(space: NodeSpace, index: number): ClusterNetwork {
  const link = wanLink(index);
  return {
    index,
    address: wan(index, 2),
    gatewayAddress: wan(index, 1),
    adminAddress: admin(index, 2),
    async setRate(rate) {
      const qdisc = (device: string) => ['qdisc', rate ? 'replace' : 'del', 'dev', device, 'root', ...(rate ? shape(rate) : [])];
      const ignore = (error: unknown) => {
        // Taking off a limit that is not there.
        if (rate) throw error;
      };
      await runCommand('tc', qdisc(link)).catch(ignore);
      await space.run('tc', qdisc('wan0')).catch(ignore);
    },
    async queuedBytes() {
      const [root] = JSON.parse(await runCommand('tc', ['-s', '-j', 'qdisc', 'show', 'dev', link])) as { readonly backlog?: number }[];
      return root?.backlog ?? 0;
    },
    cut: async () => void (await runCommand('ip', ['link', 'set', link, 'down'])),
    restore: () => restoreLink(space, link),
    async remove() {
      for (const name of [link, adminLink(index)]) await runCommand('ip', ['link', 'del', name]).catch(() => undefined);
    },
  };
}

/** Up again, and usable at once: what either side noted about an unreachable neighbour meanwhile would refuse traffic for seconds. */
async function restoreLink(space: NodeSpace, link: string): Promise<void> {
  await runCommand('ip', ['link', 'set', link, 'up']);
  await waitUntilReady({
    what: `link ${link}`,
    processes: [],
    timeoutMs: 10_000,
    check: async () =>
      (await readFile(`/sys/class/net/${link}/operstate`, 'utf8')).trim() === 'up' &&
      /state UP/.test(await space.run('ip', ['link', 'show', 'wan0'])),
  });
  await runCommand('ip', ['neigh', 'flush', 'dev', link]);
  await space.run('ip', ['neigh', 'flush', 'dev', 'wan0']);
}

const UNITS: Readonly<Record<string, number>> = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };

/** Bits per second of a rate as `tc` writes it. Throws RangeError on another form. */
export function parseRate(rate: string): number {
  const match = /^(\d+(?:\.\d+)?)([kmg]?bit)$/.exec(rate);
  const unit = UNITS[match?.[2] ?? ''];
  if (!match || unit === undefined) throw new RangeError(`rate ${rate}: write a number and bit, kbit, mbit or gbit, 20mbit for example`);
  return Number(match[1]) * unit;
}

/** A bucket of 10 ms, but at least one full TCP segment train, or fast links would not reach their rate. */
function shape(rate: string): string[] {
  const burst = Math.max(65_536, Math.ceil(parseRate(rate) / 8 / 100));
  return ['tbf', 'rate', rate, 'burst', String(burst), 'latency', '400ms'];
}
