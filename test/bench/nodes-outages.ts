import { SpokeName } from '@flotilla/api/ran';
import type { Cluster } from '@flotilla/control-plane/servers';
import type { SpokeSite } from '../support/fleet.ts';

/** Things that may be away: the link, the registry, the path between the nodes, the puller that leads, the node of that one. */
export type OutageKind = 'link' | 'registry' | 'path' | 'lead' | 'power';

/** Subject of an outage. */
interface Subject {
  readonly cluster: Cluster;
  readonly spoke: SpokeSite;
  /** Port of the registry. */
  readonly registryPort: number;
}

/** Ports of the pullers, for their lead and their blobs. */
const PULLER_PORTS = '8443,8444';

/** Puts the lead where the outage can meet it: the power of the first node is that of the whole control plane. */
export async function prepareOutage(kind: OutageKind, { cluster, spoke }: Subject): Promise<void> {
  if (kind === 'power') await spoke.kubectl(['cordon', cluster.name]);
}

/** Begins an outage; the disposal ends it. */
export async function beginOutage(kind: OutageKind, subject: Subject): Promise<AsyncDisposable> {
  const end = await BEGIN[kind](subject);
  return { [Symbol.asyncDispose]: end };
}

const BEGIN: Readonly<Record<OutageKind, (subject: Subject) => Promise<() => Promise<void>>>> = {
  async link({ spoke }) {
    await spoke.cutLink();
    return () => spoke.restoreLink();
  },
  async registry({ cluster, registryPort }) {
    const refuse = (chain: string): readonly string[] => [chain, '-o', 'wan0', '-p', 'tcp', '--dport', `${registryPort}`, ...RESET];
    return filter([cluster], [refuse('FORWARD'), refuse('OUTPUT')]);
  },
  async path({ cluster }) {
    return filter([cluster, ...cluster.nodes], [['FORWARD', '-p', 'tcp', '-m', 'multiport', '--ports', PULLER_PORTS, '-j', 'DROP']]);
  },
  async lead({ cluster, spoke }) {
    // Nothing takes its place until the nodes take pods again.
    await spoke.kubectl(['cordon', ...spoke.nodes]);
    const name = await nodeOfLead(spoke);
    const node = [cluster, ...cluster.nodes].find((each) => each.name === name);
    if (!(await node?.run('/bin/sh', ['-c', KILL_LEAD]))?.includes('killed')) throw new Error(`no puller leads on node ${name}`);
    return async () => void (await spoke.kubectl(['uncordon', ...spoke.nodes]));
  },
  async power({ cluster, spoke }) {
    await spoke.kubectl(['uncordon', cluster.name]);
    const name = await nodeOfLead(spoke);
    const node = cluster.nodes.find((each) => each.name === name);
    if (!node) throw new Error(`the lead is on ${name}`);
    await node.cutPower();
    return () => node.restorePower();
  },
};

const RESET = ['-j', 'REJECT', '--reject-with', 'tcp-reset'];

/** Only pullers have the first variable, and those that follow the second. */
const KILL_LEAD = `for f in $(grep -lz "^CRI_SOCKET=" /proc/[0-9]*/environ 2>/dev/null); do
  if ! grep -qz "^FOLLOW=" "$f"; then kill -9 "$(basename "$(dirname "$f")")" && echo killed; fi
done`;

async function nodeOfLead(spoke: SpokeSite): Promise<string> {
  const of = ['-n', SpokeName.namespace, '-l', `job-name=${SpokeName.job}`, '-o', 'jsonpath={.items[0].spec.nodeName}'];
  return spoke.kubectl(['get', 'pods', ...of]);
}

/** Puts rules first on these nodes; the answer takes them out. */
async function filter(nodes: readonly Pick<Cluster, 'run'>[], rules: readonly (readonly string[])[]): Promise<() => Promise<void>> {
  const apply = async (action: '-I' | '-D'): Promise<void> => {
    for (const node of nodes) for (const rule of rules) await node.run('iptables', ['-w', '5', action, ...rule]);
  };
  await apply('-I');
  return () => apply('-D');
}
