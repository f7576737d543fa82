/**
 * Packs a status of thousands of clusters: what is said of each is said once for all that share it, by their numbers. Nothing is lost:
 * `unpackStatus(packStatus(status))` is the status. Pure.
 */
import { readJson } from '../json.ts';
import { CacheProof, type ClusterGroupUpgradeStatus, ClusterProgress, type PackedStatus } from './cluster-group-upgrade.ts';

type Status = ClusterGroupUpgradeStatus;
type Progress = NonNullable<Status['status']['currentBatchRemediationProgress']>;
type ToRanges = (names: readonly string[]) => string;
/** Makes a packed part of a status; undefined where there is nothing to pack. */
type Stage = (status: Status, toRanges: ToRanges) => readonly [rest: Status, part: Partial<PackedStatus>] | undefined;

/** Packs as little of the status as `maxBytes` of JSON require, as far as packing suffices. */
export function packStatus(status: Status, maxBytes: number): Status {
  if (bytesOf(status) <= maxBytes) return status;
  const roll = rollOf(status);
  const numberOf = new Map(roll.map((name, index) => [name, index]));
  const toRanges: ToRanges = (names) => formatRanges(names.map((name) => numberOf.get(name) ?? -1));
  let packed = status;
  for (const stage of STAGES) {
    if (bytesOf(packed) <= maxBytes) break;
    const [rest = packed, part] = stage(packed, toRanges) ?? [];
    const named = new Set(rollOf(rest));
    const others = roll.filter((name) => !named.has(name));
    if (part) packed = { ...rest, packed: { ...packed.packed, ...part, ...(others.length > 0 && { others }) } };
  }
  return packed;
}

/** Unpacks the status, also one of an earlier version; an unpacked one is returned unchanged. An entry that somebody has made unreadable is empty. */
export function unpackStatus(status: Status): Status {
  const { packed, ...plain } = status;
  if (!packed) return status;
  const roll = [...new Set([...rollOf(plain), ...(packed.others ?? [])])].toSorted();
  const names = (ranges: string): string[] => namesIn(roll, ranges);
  const ungroup = (groups: Readonly<Record<string, string>> = {}): (readonly [cluster: string, value: string])[] =>
    Object.entries(groups).flatMap(([value, ranges]) => names(ranges).map((name) => [name, value] as const));
  const whole: Status = { ...plain };
  if (packed.plan) whole.remediationPlan = packed.plan.map(names);
  for (const job of ['precaching', 'backup'] as const) {
    const states = { ...plain[job]?.status, ...Object.fromEntries(ungroup(packed[job])) };
    if (packed[job]) Object.assign(whole, { [job]: { ...plain[job], status: states } });
  }
  if (packed.proofs) {
    const proofs = Object.entries(packed.proofs).map(([entry, ranges]) => Object.assign({}, readJson(entry), { clusters: names(ranges) }));
    whole.precaching = { ...whole.precaching, proofs: proofs.flatMap((proof) => CacheProof.safeParse(proof).data ?? []) };
  }
  if (!packed.progress && !packed.soaks) return whole;
  const progress: Progress = { ...plain.status.currentBatchRemediationProgress };
  for (const [name, entry] of ungroup(packed.progress)) progress[name] = ClusterProgress.safeParse(readJson(entry)).data ?? {};
  for (const [name, firstCompliantAt] of ungroup(packed.soaks)) progress[name] = { ...progress[name], firstCompliantAt };
  return { ...whole, status: { ...plain.status, currentBatchRemediationProgress: progress } };
}

/** Bound above any fleet, because an authorised person may have edited the status. */
const MOST_NAMES = 100_000;

function namesIn(roll: readonly string[], ranges: string): string[] {
  const names: string[] = [];
  for (const range of ranges.split(',')) {
    const [from = Number.NaN, to = from] = range.split('-').map((text) => Number.parseInt(text, 10));
    for (const name of names.length < MOST_NAMES ? roll.slice(from, to + 1) : []) names.push(name);
  }
  return names;
}

const packJob =
  (job: 'precaching' | 'backup'): Stage =>
  (status, toRanges) => {
    const states = Object.entries(status[job]?.status ?? {});
    return states.length > 0 ? [{ ...status, [job]: { ...status[job], status: {} } }, { [job]: group(states, toRanges) }] : undefined;
  };

const packProofs: Stage = ({ precaching: { proofs, ...precaching } = {}, ...status }, toRanges) => {
  const groups = proofs?.map(({ clusters, ...entry }) => [JSON.stringify(entry), toRanges(clusters)]);
  return groups && [{ ...status, precaching }, { proofs: Object.fromEntries(groups) }];
};

/** Times of soaks are apart: they differ where the rest of an entry does not. */
const packProgress: Stage = ({ status: { currentBatchRemediationProgress: progress, ...status }, ...rest }, toRanges) => {
  const entries = Object.entries(progress ?? {});
  const states = entries.map(([name, entry]) => [name, JSON.stringify({ ...entry, firstCompliantAt: undefined })] as const);
  const soaks = entries.flatMap(([name, { firstCompliantAt: at }]) => (at === undefined ? [] : [[name, at] as const]));
  return (
    progress && [
      { ...rest, status },
      { progress: group(states, toRanges), soaks: group(soaks, toRanges) },
    ]
  );
};

const packPlan: Stage = ({ remediationPlan, ...rest }, toRanges) => remediationPlan && [rest, { plan: remediationPlan.map(toRanges) }];

/** States come first, and the plan last, because programs of others read it. */
const STAGES: readonly Stage[] = [packJob('precaching'), packJob('backup'), packProofs, packProgress, packPlan];

/** Lists all clusters of a status in order, without repetition: a cluster's number is its place here. */
function rollOf({ remediationPlan = [], clusters = [], precaching, backup, status }: Status): string[] {
  const states = [precaching?.status, backup?.status, status.currentBatchRemediationProgress];
  const named = [remediationPlan.flat(), clusters.map(({ name }) => name), states.flatMap((all = {}) => Object.keys(all))];
  return [...new Set(named.flat())].toSorted();
}

/** Groups clusters by value, in the order of their numbers, so that most are ranges. */
function group(entries: readonly (readonly [cluster: string, value: string])[], toRanges: ToRanges): Record<string, string> {
  const groups = [...Map.groupBy(entries, ([, value]) => value)];
  return Object.fromEntries(groups.map(([value, members]) => [value, toRanges(members.map(([name]) => name).toSorted())]));
}

/** Formats `3,5-9` in the given order; only consecutive numbers form a range. */
const formatRanges = (numbers: readonly number[]): string =>
  numbers
    .map((number, index) => (numbers[index - 1] !== number - 1 ? `,${number}` : numbers[index + 1] === number + 1 ? '' : `-${number}`))
    .join('')
    .slice(1);

const encoder = new TextEncoder();
const bytesOf = (value: unknown): number => encoder.encode(JSON.stringify(value)).length;
