import { runCommand } from '../../processes/command.ts';
import type { NodeSpace } from './node-space.ts';

/** The fast network between the nodes of one cluster. The first node is its router: the cluster's one link to the world is there. */
export interface Lan {
  readonly index: number;
  readonly first: NodeSpace;
  /** The first node on this network. */
  readonly gateway: string;
  /** Pods of the first node. */
  readonly podCidr: string;
}

/** Most nodes of a cluster: each has 32 addresses for its pods. */
const MAX_NODES = 8;

const addressOf = (index: number, place: number): string => `10.81.${index}.${place + 1}`;
const podsOf = (index: number, place: number): string => `10.88.${index}.${place * 32}/27`;

/** Address of the first node on the network of a cluster. */
export const lanGateway = (index: number): string => addressOf(index, 0);

/** Makes the network, beside the links of the first node. */
export async function openLan(first: NodeSpace, index: number): Promise<Lan> {
  const gateway = lanGateway(index);
  const commands = ['link add lan0 type bridge', `addr add ${gateway}/24 dev lan0`, 'link set lan0 up'];
  await first.run('ip', ['-batch', '-'], { input: commands.join('\n') });
  // Between nodes and pods of the cluster addresses stay what they are; the world sees the first node.
  await masquerade(first, `10.88.${index}.0/24`, index);
  await masquerade(first, `10.81.${index}.0/24`, index);
  return { index, first, gateway, podCidr: podsOf(index, 0) };
}

async function masquerade(first: NodeSpace, source: string, index: number): Promise<void> {
  const rule = ['-t', 'nat', '-A', 'POSTROUTING', '-s', source, '-o', 'wan0', '!', '-d', `10.79.${index}.2/32`, '-j', 'MASQUERADE'];
  await first.run('iptables', ['-w', '5', ...rule]);
}

/** Connects a further node, and routes to its pods. */
export async function joinLan(
  { index, first, gateway }: Lan,
  space: NodeSpace,
  place: number,
): Promise<{ readonly address: string; readonly podCidr: string }> {
  if (place >= MAX_NODES) throw new RangeError(`a cluster has at most ${MAX_NODES} nodes`);
  const address = addressOf(index, place);
  const podCidr = podsOf(index, place);
  const port = `lan${place}`;
  // Both ends are in namespaces of nodes, which take them along when they end.
  const ends = [
    'link',
    'add',
    'name',
    port,
    'netns',
    String(first.pid),
    'type',
    'veth',
    'peer',
    'name',
    'lan0',
    'netns',
    String(space.pid),
  ];
  await runCommand('ip', ends);
  const here = [`link set ${port} master lan0`, `link set ${port} up`, `route replace ${podCidr} via ${address}`];
  const there = [`addr add ${address}/24 dev lan0`, 'link set lan0 up', `route add default via ${gateway}`];
  await space.run('ip', ['-batch', '-'], { input: there.join('\n') });
  await first.run('ip', ['-batch', '-'], { input: here.join('\n') });
  return { address, podCidr };
}
