/**
 * Packs a status of thousands of clusters: repeated facts about a cluster are spelled out once, and by the cluster's number elsewhere. Nothing is
 * lost: `unpackStatus(packStatus(status))` is the status. Pure.
 */
import { isJsonObject, readJson } from '../json.ts';
import { CacheProof, type ClusterGroupUpgradeStatus, ClusterProgress, type PackedStatus } from './cluster-group-upgrade.ts';

type Status = ClusterGroupUpgradeStatus;
type Progress = NonNullable<Status['status']['currentBatchRemediationProgress']>;
type Packed = { -readonly [K in keyof PackedStatus]: PackedStatus[K] };

/**
 * Packs as little of the status as `maxBytes` of JSON require, as far as packing suffices.
 * @param maxBytes as JSON
 */
export function packStatus(status: Status, maxBytes: number): Status {
  if (bytesOf(status) <= maxBytes) return status;
  const roll = rollOf(status);
  const numberOf = new Map(roll.map((name, index) => [name, index]));
  const toRanges = (names: Iterable<string>): string => formatRanges([...names].map((name) => numberOf.get(name) ?? -1));
  let packed: Status = status;
  for (const stage of STAGES) {
    packed = stage(packed, toRanges);
    const plain = new Set(rollOf(packed));
    const others = roll.filter((name) => !plain.has(name));
    const whole = { ...packed, packed: { ...packed.packed, ...(others.length > 0 && { others }) } };
    if (bytesOf(whole) <= maxBytes || stage === STAGES.at(-1)) return whole;
  }
  return status;
}

/** Unpacks the status; an unpacked one is returned unchanged. */
export function unpackStatus(status: Status): Status {
  const { packed, ...plain } = status;
  if (!packed) return status;
  const roll = [...new Set([...rollOf(plain), ...(packed.others ?? [])])].toSorted();
  const names = (ranges: string): string[] => parseRanges(ranges).flatMap((index) => roll[index] ?? []);
  const whole: Status = { ...plain };
  if (packed.plan) whole.remediationPlan = packed.plan.map(names);
  for (const job of ['precaching', 'backup'] as const) {
    const groups = packed[job];
    if (groups) Object.assign(whole, { [job]: { ...plain[job], status: { ...plain[job]?.status, ...ungroup(groups, names) } } });
  }
  if (packed.proofs) {
    const proofs = Object.entries(packed.proofs).flatMap(([entry, ranges]) => readProof(entry, names(ranges)));
    whole.precaching = { ...whole.precaching, proofs };
  }
  if (!packed.progress && !packed.soaks) return whole;
  const progress: Progress = { ...plain.status.currentBatchRemediationProgress };
  for (const [entry, ranges] of Object.entries(packed.progress ?? {})) for (const name of names(ranges)) progress[name] = readEntry(entry);
  for (const [firstCompliantAt, ranges] of Object.entries(packed.soaks ?? {}))
    for (const name of names(ranges)) progress[name] = { ...progress[name], firstCompliantAt };
  return { ...whole, status: { ...plain.status, currentBatchRemediationProgress: progress } };
}

/** Parses an entry. An authorised person may have edited the status, so an unreadable entry counts as empty. */
const readEntry = (text: string): Progress[string] => ClusterProgress.safeParse(readJson(text)).data ?? {};

/** Parses a proof; an unreadable one is none, as if nothing were proven yet. */
function readProof(text: string, clusters: string[]): CacheProof[] {
  const entry = readJson(text);
  const proof = CacheProof.safeParse(isJsonObject(entry) && { ...entry, clusters }).data;
  return proof ? [proof] : [];
}

type ToRanges = (names: Iterable<string>) => string;
type Stage = (status: Status, toRanges: ToRanges) => Status;

/** Stages in this order: finished parts first, then repetitions; the current state of a cluster stays unpacked. */
const STAGES: readonly Stage[] = [packJobs, packProofs, packPlan, packEnded, packSoaks];

/** Packs pre-caching and backup of recorded clusters, and of all once the rollout has started; also pre-caching of clusters in backup. */
function packJobs(status: Status, toRanges: ToRanges): Status {
  const recorded = recordedIn(status);
  const after = { precaching: status.backup?.status ?? {}, backup: {} };
  let result = status;
  for (const job of ['precaching', 'backup'] as const) {
    const states = Object.entries(status[job]?.status ?? {});
    const isOver = (cluster: string) =>
      status.status.startedAt !== undefined || recorded.has(cluster) || Object.hasOwn(after[job], cluster);
    const over = states.filter(([cluster]) => isOver(cluster));
    if (over.length === 0) continue;
    const left = Object.fromEntries(states.filter(([cluster]) => !isOver(cluster)));
    result = withPacked({ ...result, [job]: { ...result[job], status: left } }, { [job]: group(over, toRanges) });
  }
  return result;
}

function packProofs({ precaching, ...status }: Status, toRanges: ToRanges): Status {
  const { proofs, ...rest } = precaching ?? {};
  if (!precaching || !proofs) return { ...status, precaching };
  const groups = proofs.map(({ clusters, ...entry }) => [JSON.stringify(entry), toRanges(clusters)]);
  return withPacked({ ...status, precaching: rest }, { proofs: Object.fromEntries(groups) });
}

function packPlan({ remediationPlan, ...status }: Status, toRanges: ToRanges): Status {
  return remediationPlan ? withPacked(status, { plan: remediationPlan.map(toRanges) }) : status;
}

/** Packs the progress of clusters whose record has their end. */
function packEnded(status: Status, toRanges: ToRanges): Status {
  const recorded = recordedIn(status);
  const progress = Object.entries(status.status.currentBatchRemediationProgress ?? {});
  const ended = progress.filter(([cluster]) => recorded.has(cluster));
  if (ended.length === 0) return status;
  const left = Object.fromEntries(progress.filter(([cluster]) => !recorded.has(cluster)));
  const groups = group(
    ended.map(([cluster, entry]) => [cluster, JSON.stringify(entry)]),
    toRanges,
  );
  return withPacked({ ...status, status: { ...status.status, currentBatchRemediationProgress: left } }, { progress: groups });
}

function packSoaks(status: Status, toRanges: ToRanges): Status {
  const progress = Object.entries(status.status.currentBatchRemediationProgress ?? {});
  const soaking = progress.flatMap(([cluster, { firstCompliantAt }]) =>
    firstCompliantAt === undefined ? [] : [[cluster, firstCompliantAt] as [string, string]],
  );
  if (soaking.length === 0) return status;
  const left = Object.fromEntries(progress.map(([cluster, entry]) => [cluster, { ...entry, firstCompliantAt: undefined }]));
  return withPacked(
    { ...status, status: { ...status.status, currentBatchRemediationProgress: left } },
    { soaks: group(soaking, toRanges) },
  );
}

const withPacked = (status: Status, more: Packed): Status => ({ ...status, packed: { ...status.packed, ...more } });

const recordedIn = ({ clusters = [] }: Status): ReadonlySet<string> => new Set(clusters.map(({ name }) => name));

/** Lists all clusters of a status in order, without repetition: a cluster's number is its place here. */
const rollOf = ({ remediationPlan = [], clusters = [], precaching, backup, status }: Status): string[] =>
  [
    ...new Set([
      ...remediationPlan.flat(),
      ...clusters.map(({ name }) => name),
      ...Object.keys(precaching?.status ?? {}),
      ...Object.keys(backup?.status ?? {}),
      ...Object.keys(status.currentBatchRemediationProgress ?? {}),
    ]),
  ].toSorted();

function group(entries: readonly (readonly [cluster: string, value: string])[], toRanges: ToRanges): Record<string, string> {
  const groups = new Map<string, string[]>();
  for (const [cluster, value] of entries) {
    const clusters = groups.get(value) ?? [];
    groups.set(value, clusters);
    clusters.push(cluster);
  }
  return Object.fromEntries([...groups].map(([value, clusters]) => [value, toRanges(clusters)]));
}

const ungroup = (groups: Readonly<Record<string, string>>, names: (ranges: string) => string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(groups).flatMap(([value, ranges]) => names(ranges).map((name) => [name, value])));

/** Formats `3,5-9` in the given order; only consecutive numbers form a range. */
function formatRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** Bound above any fleet, because an authorised person may have edited the status. */
const MOST_NUMBERS = 100_000;

function parseRanges(text: string): number[] {
  const numbers: number[] = [];
  for (const range of text === '' ? [] : text.split(',')) {
    const [from = 0, to = from] = range.split('-').map(Number);
    for (let number = from; number <= to && numbers.length < MOST_NUMBERS; number += 1) numbers.push(number);
  }
  return numbers;
}

const encoder = new TextEncoder();
const bytesOf = (value: unknown): number => encoder.encode(JSON.stringify(value)).length;
