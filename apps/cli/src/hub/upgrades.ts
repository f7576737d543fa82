import { errorMessage, FlotillaError, refKey } from '@flotilla/api';
import { ClusterGroupUpgrade, unpackStatus } from '@flotilla/api/ran';
import { type Client, isForbidden } from '@flotilla/runtime';
import { follow } from './follow.ts';

/** Name and namespace of an upgrade. */
export interface UpgradeRef {
  readonly namespace: string;
  readonly name: string;
}

/** An upgrade with its status in full, however the server has it. */
export const whole = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade =>
  upgrade.status?.packed ? { ...upgrade, status: unpackStatus(upgrade.status) } : upgrade;

/**
 * Reads one upgrade.
 * @throws FlotillaError `FLOTILLA_NO_UPGRADE`, naming those that there are
 */
export async function readUpgrade(client: Client, ref: UpgradeRef): Promise<ClusterGroupUpgrade> {
  const found = await client.get(ClusterGroupUpgrade, ref);
  if (found) return whole(found);
  throw await missing(client, ref);
}

/** Names that an error lists at most. */
const MOST_NAMES = 5;

async function missing(client: Client, { namespace, name }: UpgradeRef): Promise<FlotillaError> {
  const said = `there is no ClusterGroupUpgrade ${name} in namespace ${namespace} of ${client.server}`;
  return new FlotillaError('FLOTILLA_NO_UPGRADE', `${said}; ${await othersThan(client, { namespace, name })}`);
}

async function othersThan(client: Client, { namespace, name }: UpgradeRef): Promise<string> {
  const list = async (options: object) => (await client.list(ClusterGroupUpgrade, { transform: withoutStatus, ...options })).items;
  try {
    const [elsewhere] = (await list({ fieldSelector: `metadata.name=${name}` })).map(({ metadata }) => metadata.namespace);
    if (elsewhere !== undefined) return `there is one in namespace ${elsewhere}: add -n ${elsewhere}`;
  } catch (error) {
    if (!isForbidden(error)) return errorMessage(error);
  }
  try {
    const here = (await list({ namespace })).map(({ metadata }) => metadata.name);
    if (here.length === 0) return 'the namespace has none: name another with -n, or list all with flotilla status -A';
    return `the namespace has ${here.slice(0, MOST_NAMES).join(', ')}${here.length > MOST_NAMES ? ' and others' : ''}`;
  } catch {
    return 'name its namespace with -n';
  }
}

const withoutStatus = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade => ({ metadata: upgrade.metadata });

/** Each version of one upgrade, the present one first, until the signal ends it. Throws as `readUpgrade` does, also when it is deleted. */
export async function* followUpgrade(client: Client, ref: UpgradeRef, signal: AbortSignal): AsyncGenerator<ClusterGroupUpgrade> {
  let isSeen = false;
  for await (const found of follow(client, ClusterGroupUpgrade, ref, signal)) {
    if (!found && isSeen) throw new FlotillaError('FLOTILLA_NO_UPGRADE', `ClusterGroupUpgrade ${refKey(ref)} has been deleted`);
    if (!found) throw await missing(client, ref);
    isSeen = true;
    yield whole(found);
  }
}
