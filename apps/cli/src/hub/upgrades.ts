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

/** Lists the upgrades without an end that name a cluster or plan it, as `namespace/name`; undefined where they may not be seen. */
export async function upgradesWith(client: Client, cluster: string): Promise<string[] | undefined> {
  const names: string[] = [];
  const transform = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade => {
    const { metadata, spec, status } = whole(upgrade);
    const isMember = spec?.clusters?.includes(cluster) || status?.remediationPlan?.some((batch) => batch.includes(cluster));
    if (isMember && status?.status?.completedAt === undefined) names.push(refKey(metadata));
    return { metadata };
  };
  try {
    await client.list(ClusterGroupUpgrade, { transform });
    return names;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** A hub reconciles within a second; a busy one within some. */
const TAKEN_UP_WITHIN_MS = 15_000;

/** Waits until the hub has made an upgrade so; false when the time is up. One that is deleted meanwhile waits for nothing any more. */
export async function untilTakenUp(client: Client, ref: UpgradeRef, isSo: (upgrade: ClusterGroupUpgrade) => boolean): Promise<boolean> {
  try {
    for await (const upgrade of followUpgrade(client, ref, AbortSignal.timeout(TAKEN_UP_WITHIN_MS))) if (isSo(upgrade)) return true;
    return false;
  } catch (error) {
    if (error instanceof FlotillaError && error.code === 'FLOTILLA_NO_UPGRADE') return true;
    throw error;
  }
}
