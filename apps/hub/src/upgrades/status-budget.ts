/** Bounds a status that thousands of clusters fill with errors: details go first, states never. Pure. */
import {
  type ClusterGroupUpgradeStatus,
  cutInMiddle,
  isFinalBackupState,
  isFinalPrecacheState,
  type PrecacheProgress,
  packStatus,
} from '@flotilla/api/ran';

type Status = ClusterGroupUpgradeStatus;

/** Largest status in bytes, as JSON. */
const MAX_STATUS_BYTES = 500 * 1024;

/** Bytes of the names of detail fields. */
const OVERHEAD = 256;

/**
 * Fits a status into its bound. States always stay; when they alone are too large, finished ones and repetitions are packed. Details follow while
 * there is room: messages of ended clusters, which are shortened where they do not all fit, then of waiting ones, then progress.
 * @param canPack the API server keeps `packed`
 */
export function fitStatus(status: Status, { canPack = true }: { readonly canPack?: boolean } = {}): Status {
  const bare = withoutDetails(status);
  const states = canPack ? packStatus(bare, MAX_STATUS_BYTES) : bare;
  return addDetails(states, status, MAX_STATUS_BYTES - bytesOf(states));
}

/** Removes the fields that go first. */
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
  const inFull = bytesOf([precached, backedUp]) <= room;
  const shortened = (entries: [string, string][]) =>
    inFull ? entries : entries.map(([name, text]): [string, string] => [name, cutInMiddle(text)]);
  const ended = { precaching: pick(shortened(precached)), backup: pick(shortened(backedUp)) };
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

/** Splits messages into those of ended clusters and the others. */
function split(
  messages: Readonly<Record<string, string>> | undefined,
  isFinal: (cluster: string) => boolean,
): [[string, string][], [string, string][]] {
  const all = Object.entries(messages ?? {});
  return [all.filter(([cluster]) => isFinal(cluster)), all.filter(([cluster]) => !isFinal(cluster))];
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Leaves out empty maps, as the reference's serialisation does. */
export const orAbsent = <T extends object>(value: T): T | undefined => (Object.keys(value).length > 0 ? value : undefined);
