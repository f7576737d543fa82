/** The pull of each cluster in figures, and alike ones together. Pure. */
import type { Figure, PlannedPull } from '@flotilla/api/answers';
import { atMost, exact, forecast, unknown } from './facts.ts';

/** The pull of one cluster. */
export type ClusterPull = Omit<PlannedPull, 'clusters' | 'example'> & { readonly cluster: string };

/** Where it is known from what a cluster has. */
type Source =
  /** Its node was asked a moment ago. */
  | { readonly kind: 'inspected'; readonly unsure?: string | undefined; readonly nodes: number }
  /** Its puller reported it while it ran. */
  | { readonly kind: 'reported'; readonly by: string }
  /** Another upgrade has pulled its images there. */
  | { readonly kind: 'earlier'; readonly by: string }
  /** This upgrade has pulled them there. */
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown'; readonly why: string };

/** Known facts of one cluster's pull. */
export interface PullFacts {
  readonly cluster: string;
  readonly architecture?: string | undefined;
  readonly runtime?: string | undefined;
  /** Images, also those that could not be read, and the bytes of the others; undefined where nobody looked them up. */
  readonly list?: { readonly images: number; readonly bytes: number } | undefined;
  /** Sentence on images of the list that could not be read: they may take any number of bytes, so no sum is known. */
  readonly unread?: string | undefined;
  readonly source: Source;
  /** Images and bytes of the list that are missing according to that source. */
  readonly needs?: { readonly missingImages: number; readonly missingBytes: number } | undefined;
  /** Bytes that must be free for it. */
  readonly required?: number | undefined;
  /** Bytes that are free below the kubelet's threshold. */
  readonly free?: number | undefined;
  /** Bytes a second, and from where that is known. */
  readonly rate?: { readonly bytesPerSecond: number; readonly why: string } | undefined;
}

const UNSEEN = 'the images were not looked up';
const BOUND = 'layers that are there already are not pulled';

/** Makes the figures of one cluster. */
export function estimatePull(facts: PullFacts): ClusterPull {
  const { cluster, architecture, runtime, list, source, needs, required, free, rate } = facts;
  const unread = source.kind === 'done' ? undefined : facts.unread;
  const of = figureBy(needs ? source : UNLOOKED, unread);
  const bytes = list ? of(needs?.missingBytes ?? list.bytes) : unknown(UNSEEN);
  const space = spaceOf(required, unread);
  const fits = required === undefined || free === undefined ? undefined : required === 0 || required <= free;
  return {
    cluster,
    says: saysOf(source),
    ...(architecture !== undefined && { architecture }),
    ...(runtime !== undefined && { runtime }),
    ...(list && { images: { missing: of(needs?.missingImages ?? list.images), of: list.images } }),
    bytes,
    space,
    free: free === undefined ? unknown('nobody has looked there: --inspect does') : exact(Math.max(free, 0)),
    seconds: secondsOf(bytes, rate),
    // Images without room do not get any by more of them; room for some is not room for all.
    ...(fits !== undefined && (unread === undefined || !fits) && { fits }),
  };
}

function spaceOf(required: number | undefined, unread: string | undefined): Figure {
  if (required === undefined || unread !== undefined) return unknown(unread ?? UNSEEN);
  return forecast(required, 'what the puller asks for: see docs/puller.md');
}

const UNLOOKED: Source = { kind: 'unknown', why: 'not looked at' };

function figureBy(source: Source, unread: string | undefined): (value: number) => Figure {
  if (unread !== undefined) return () => unknown(unread);
  if (source.kind === 'unknown') return (value) => atMost(value, BOUND);
  if (source.kind === 'reported' || source.kind === 'earlier')
    return (value) => forecast(value, `as ${source.by} left it; what came and went since is not seen`);
  if (source.kind === 'done') return exact;
  if (source.nodes > 1) return (value) => forecast(value, `one of ${source.nodes} nodes was asked`);
  const { unsure } = source;
  return unsure === undefined ? exact : (value) => atMost(value, unsure);
}

function saysOf(source: Source): string {
  if (source.kind === 'inspected') return 'inspected';
  if (source.kind === 'done') return 'pulled by this upgrade';
  return source.kind === 'unknown' ? source.why : `as ${source.by} left it`;
}

function secondsOf(bytes: Figure, rate: PullFacts['rate']): Figure {
  if (bytes.value === undefined) return bytes;
  if (bytes.value === 0) return bytes;
  if (rate === undefined) return unknown('no rate is known: give one with --rate');
  const seconds = Math.ceil(bytes.value / rate.bytesPerSecond);
  return bytes.certainty === 'at-most' ? atMost(seconds, `all bytes at ${rate.why}`) : forecast(seconds, `at ${rate.why}`);
}

/** Puts clusters together that pull the same for the same reason; the tightest and the slowest of them stands for all. */
export function groupPulls(pulls: readonly ClusterPull[]): PlannedPull[] {
  const keyOf = ({ says, architecture, runtime, images, bytes, fits }: ClusterPull) =>
    JSON.stringify([says, architecture, runtime, images, bytes, fits]);
  const groups = [...Map.groupBy(pulls, keyOf).values()].map((alike): PlannedPull => {
    const tightest = alike.toSorted((one, other) => roomOf(one) - roomOf(other))[0];
    const slowest = alike.toSorted((one, other) => (other.seconds.value ?? 0) - (one.seconds.value ?? 0))[0];
    const { cluster: example, ...rest } = tightest ?? alike[0] ?? nobody;
    return { ...rest, clusters: alike.length, example, seconds: slowest?.seconds ?? rest.seconds };
  });
  return groups.toSorted((one, other) => other.clusters - one.clusters);
}

const roomOf = ({ free, space }: ClusterPull): number => (free.value ?? 0) - (space.value ?? 0);
const nobody: ClusterPull = { cluster: '', says: '', bytes: exact(0), space: exact(0), free: exact(0), seconds: exact(0) };
