/** The room a status has, whatever goes wrong on thousands of clusters: what is left out first, and what never. Pure. */
import {
  type ClusterGroupUpgradeStatus,
  isFinalBackupState,
  isFinalPrecacheState,
  type PrecacheProgress,
  packStatus,
} from '@flotilla/api/ran';

type Status = ClusterGroupUpgradeStatus;

/** Bytes that a status may have, as JSON. */
const MAX_STATUS_BYTES = 500 * 1024;

/** Names of the fields that details stand in. */
const OVERHEAD = 256;

/**
 * The status in the room there is. States are never left out: where they alone are too much, those that are over and what is said twice
 * are packed. What explains them is added as long as there is room: how clusters ended first, then why they wait, then how far they are.
 * @param canPack the API server keeps `packed`
 */
export function fitStatus(status: Status, { canPack = true }: { readonly canPack?: boolean } = {}): Status {
  const bare = withoutDetails(status);
  const states = canPack ? packStatus(bare, MAX_STATUS_BYTES) : bare;
  return addDetails(states, status, MAX_STATUS_BYTES - bytesOf(states));
}

/** What is left out first when there is no room. */
function withoutDetails(status: Status): Status {
  const { messages: _, precaching, backup, clusters, ...rest } = status;
  const bare: Status = { ...rest };
  if (clusters) bare.clusters = clusters.map(({ name, state }) => ({ name, state }));
  if (precaching) bare.precaching = { ...precaching, messages: undefined, progress: undefined };
  if (backup) bare.backup = { ...backup, messages: undefined };
  return bare;
}

function addDetails(bare: Status, { messages, clusters = [], precaching, backup }: Status, free: number): Status {
  let room = free - OVERHEAD;
  const fits = (name: string, value: unknown): boolean => {
    const size = bytesOf({ [name]: value });
    if (size > room) return false;
    room -= size;
    return true;
  };
  const pick = <T>(entries: Iterable<readonly [string, T]>): Record<string, T> =>
    Object.fromEntries([...entries].filter(([name, value]) => fits(name, value)));
  const [precached, precaches] = split(precaching?.messages, (cluster) => isFinalPrecacheState(precaching?.status?.[cluster] ?? 'Active'));
  const [backedUp, backsUp] = split(backup?.messages, (cluster) => isFinalBackupState(backup?.status?.[cluster] ?? 'Active'));

  const records = pick(clusters.map((record) => [record.name, record] as const));
  const ended = { precaching: pick(precached), backup: pick(backedUp) };
  const held = pick(Object.entries(messages ?? {}));
  const waiting = { precaching: pick(precaches), backup: pick(backsUp) };
  const progress = pick<PrecacheProgress>(Object.entries(precaching?.progress ?? {}));
  const result: Status = { ...bare, messages: orAbsent(held) };
  if (bare.clusters) result.clusters = bare.clusters.map((record) => records[record.name] ?? record);
  if (bare.precaching)
    result.precaching = {
      ...bare.precaching,
      messages: orAbsent({ ...ended.precaching, ...waiting.precaching }),
      progress: orAbsent(progress),
    };
  if (bare.backup) result.backup = { ...bare.backup, messages: orAbsent({ ...ended.backup, ...waiting.backup }) };
  return result;
}

/** Messages of clusters whose part has ended, and those of all others. */
function split(
  messages: Readonly<Record<string, string>> | undefined,
  isFinal: (cluster: string) => boolean,
): [[string, string][], [string, string][]] {
  const all = Object.entries(messages ?? {});
  return [all.filter(([cluster]) => isFinal(cluster)), all.filter(([cluster]) => !isFinal(cluster))];
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Empty maps are left out, as the reference's serialisation does. */
export const orAbsent = <T extends object>(value: T): T | undefined => (Object.keys(value).length > 0 ? value : undefined);
