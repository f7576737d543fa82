/** Hands out the bytes a second of the fleet to the clusters that pull. Pure. */
import { LEAST_BANDWIDTH } from '@flotilla/api/ran';
import type { WrittenCap } from '../spokes/transports/port/cap.ts';

/** Bytes a second that a group of clusters may take together. */
interface ByteLimit {
  /** Differs from that of any other limit. */
  readonly id: string;
  readonly most: number;
}

/** A cluster that pulls. */
export interface Puller {
  readonly cluster: string;
  /** Those that it is under. */
  readonly limits: readonly ByteLimit[];
  /** Its cap on the hub; undefined where its pull has not begun. */
  readonly written: WrittenCap | undefined;
}

/** Caps of now. */
export interface HandedOut {
  /** Bytes a second by cluster; absent for a cluster that no limit concerns. */
  readonly caps: ReadonlyMap<string, number>;
  /** When they are others without any event, milliseconds since the epoch. */
  readonly at: number | undefined;
}

/** Milliseconds between two changes of a cluster's cap. */
const CHANGE_EVERY_MS = 60_000;
/** A cap rises by this part at least: less is not worth a write. */
const LEAST_RISE = 1.1;
/** Steps of counts, each by more than a rise: a newcomer changes the caps of others at a step alone. */
const STEP = 1.12;

/** Clusters that share a limit. */
interface Group {
  readonly limit: number;
  count: number;
  /** Bytes a second that are not handed out. */
  free: number;
  /** Clusters that may take of them. */
  wanting: number;
}

/** A puller with its groups. */
interface Sharer {
  readonly cluster: string;
  readonly groups: readonly Group[];
  readonly own: number;
  /** Its part by the counts alone. */
  readonly share: number;
  readonly mayChangeAt: number;
}

/**
 * Gives each cluster the least, over its groups, of the limit by the number of clusters that pull. A cap changes once a minute. It rises, and a
 * newcomer begins, by what is free alone, so caps exceed a limit for a minute at most: after it was lowered, or by the least that every puller has.
 */
export function handOut(pullers: readonly Puller[], now: number): HandedOut {
  const groups = new Map<string, Group>();
  const groupOf = ({ id, most }: ByteLimit): Group => {
    const group = groups.get(id) ?? { limit: most, count: 0, free: most, wanting: 0 };
    groups.set(id, group);
    return group;
  };
  const found = pullers.map((puller) => ({ ...puller, groups: puller.limits.map(groupOf) }));
  for (const puller of found) for (const group of puller.groups) group.count += 1;
  const sharers = found.flatMap((puller) => (puller.groups.length > 0 ? [sharerOf(puller)] : []));
  const isHeld = ({ mayChangeAt }: Sharer): boolean => now < mayChangeAt;
  const wanted = (each: Sharer): boolean => each.share >= each.own * LEAST_RISE && each.share > each.own;
  for (const each of sharers) {
    for (const group of each.groups) {
      // A pull that nobody can cap any more counts as its part.
      group.free -= isHeld(each) && Number.isFinite(each.own) ? each.own : Math.min(each.own, each.share);
      group.wanting += Number(!isHeld(each) && wanted(each));
    }
  }
  const caps = new Map<string, number>();
  let at: number | undefined;
  for (const each of sharers) {
    const { cluster, own, share, mayChangeAt } = each;
    const rise = Math.min(...each.groups.map(({ free, wanting }) => Math.max(0, free) / wanting));
    const next = wanted(each) ? Math.max(LEAST_BANDWIDTH, Math.floor(Math.min(share, own + rise))) : Math.min(own, share);
    const isWorth = next < own || next >= own * LEAST_RISE;
    const cap = isHeld(each) || !isWorth ? own : next;
    if (Number.isFinite(cap)) caps.set(cluster, cap);
    if (isHeld(each) && Number.isFinite(mayChangeAt) && (wanted(each) || share < own)) at = Math.min(at ?? mayChangeAt, mayChangeAt);
  }
  return { caps, at };
}

function sharerOf({ cluster, groups, written }: Puller & { readonly groups: readonly Group[] }): Sharer {
  const share = Math.min(...groups.map(({ limit, count }) => Math.floor(limit / countedAs(count))));
  return {
    cluster,
    groups,
    own: written ? (written.bytesPerSecond ?? Number.POSITIVE_INFINITY) : 0,
    share: Math.max(LEAST_BANDWIDTH, share),
    mayChangeAt: (written?.at ?? Number.NEGATIVE_INFINITY) + CHANGE_EVERY_MS,
  };
}

/** Rounds a count up to a step; up to nine each is one. */
function countedAs(count: number): number {
  let step = 1;
  while (step < count) step = Math.max(step + 1, Math.ceil(step * STEP));
  return step;
}
