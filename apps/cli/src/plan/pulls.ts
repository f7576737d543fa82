/** The pull of each cluster of a plan, by what is known of its node. */
import { claimedNodes, type ManagedCluster } from '@flotilla/api/ocm';
import { readBandwidth } from '@flotilla/api/ran';
import { type ClusterPull, estimatePull, type PullFacts } from '@flotilla/rollout';
import {
  chainOf,
  freeBytes,
  judgeLayers,
  type NodeNeeds,
  needsByReport,
  needsOf,
  RUNTIME_EXPANSION,
  requiredBytes,
  sumLayers,
} from '@flotilla/software';
import { type ListedImages, unreadSentence } from './images.ts';
import type { Outcome } from './inspect/transport.ts';
import type { Left } from './left.ts';

/** Everything that a plan knows of the pulls. */
interface PullKnowledge {
  readonly clusters: readonly string[];
  readonly managed: ReadonlyMap<string, ManagedCluster>;
  /** Clusters that this upgrade has pulled on. */
  readonly done: ReadonlySet<string>;
  /** Images by architecture; empty where nobody looked them up. */
  readonly lists: ReadonlyMap<string, ListedImages>;
  readonly left: Left;
  /** Images of earlier pulls, by upgrade and architecture; those that could not be looked up are absent. */
  readonly earlierLists: ReadonlyMap<string, ListedImages>;
  /** Undefined where nobody was to be inspected. */
  readonly inspections: ReadonlyMap<string, Outcome> | undefined;
  readonly rate: number | undefined;
  readonly configAnnotations: Readonly<Record<string, string>> | undefined;
}

/** Architecture of a cluster's nodes: the most frequent, undefined where its agent does not say. */
export const architectureOf = (cluster: ManagedCluster | undefined): string | undefined => claimedNodes(cluster)[0]?.architecture;

/** Key of an earlier pull's images. */
export const earlierKey = (by: string, architecture: string): string => `${by} ${architecture}`;

/** Makes the figures of every cluster. */
export function planPulls(known: PullKnowledge): ClusterPull[] {
  return known.clusters.map((cluster) => estimatePull(factsOf(cluster, known)));
}

function factsOf(cluster: string, known: PullKnowledge): PullFacts {
  const managed = known.managed.get(cluster);
  const [node] = claimedNodes(managed);
  const inspection = known.inspections?.get(cluster);
  const inventory = inspection && 'inventory' in inspection ? inspection.inventory : undefined;
  const architecture = inventory?.architecture ?? node?.architecture;
  const listed = architecture === undefined ? largest(known.lists) : known.lists.get(architecture);
  const found = findNeeds(cluster, listed, known);
  const missing = found.needs ?? (listed && { missingBytes: listed.bytes, storedBytes: 0, packedBytes: 0 });
  return {
    cluster,
    architecture,
    runtime: inventory?.runtime ?? node?.runtime,
    list: listed && { images: listed.images.length + listed.unresolved.length, bytes: listed.bytes },
    unread: listed && unreadSentence(listed),
    ...found,
    required: missing && listed && requiredFor(missing, listed),
    free: inventory && freeBytes(inventory.space, inventory.space.thresholdPercent),
    rate: rateOf(cluster, known),
  };
}

/** The list that asks most of a node; one with images that nobody could read may ask any amount. */
const largest = (lists: PullKnowledge['lists']): ListedImages | undefined =>
  [...lists.values()].toSorted((a, b) => b.unresolved.length - a.unresolved.length || b.bytes - a.bytes)[0];

const requiredFor = ({ missingBytes, storedBytes, packedBytes }: Omit<NodeNeeds, 'missingImages'>, { spaceRequiredGiB }: ListedImages) =>
  requiredBytes({ missingBytes, cachedBytes: storedBytes, packedBytes, expansion: RUNTIME_EXPANSION, spaceRequiredGiB });

/** Finds the best that is known of a cluster: an inspection, then its own pull, a report, what another upgrade pulled. */
function findNeeds(
  cluster: string,
  listed: ListedImages | undefined,
  known: PullKnowledge,
): Pick<PullFacts, 'source'> & { needs?: NodeNeeds } {
  const inspection = known.inspections?.get(cluster);
  if (listed && inspection && 'inventory' in inspection) {
    const needs = needsOf(listed.list, inspection.inventory);
    const nodes = claimedNodes(known.managed.get(cluster)).reduce((sum, { count }) => sum + count, 0);
    if (needs) return { source: { kind: 'inspected', unsure: inspection.inventory.unsure, nodes: Math.max(nodes, 1) }, needs };
  }
  if (known.done.has(cluster)) return { source: { kind: 'done' }, needs: NOTHING };
  const why = inspection && ('why' in inspection ? inspection.why : 'its node answered for other images');
  if (!listed) return { source: { kind: 'unknown', why: why ?? 'not looked at' } };
  const reported = known.left.reports.get(cluster);
  const byReport = reported?.report.layers && needsByReport(listed.list, reported.report.layers);
  if (reported && byReport) return { source: { kind: 'reported', by: reported.by }, needs: byReport };
  return findEarlier(cluster, listed, known) ?? { source: { kind: 'unknown', why: why ?? 'not looked at' } };
}

const NOTHING: NodeNeeds = { missingBytes: 0, storedBytes: 0, packedBytes: 0, missingImages: 0 };

/** Reckons with the images that other upgrades have pulled, as if nothing of them had been removed. */
function findEarlier(cluster: string, listed: ListedImages, known: PullKnowledge) {
  const pulls = known.left.earlier.filter(({ clusters }) => clusters.has(cluster));
  const lists = pulls.flatMap(({ by }) => known.earlierLists.get(earlierKey(by, listed.architecture)) ?? []);
  const [first] = pulls;
  if (!first || lists.length === 0) return undefined;
  const present = lists.flatMap(({ images }) => images);
  const digests = new Set(present.map(({ digest }) => digest));
  const missing = listed.images.filter(({ digest }) => !digests.has(digest));
  // Both runtimes keep what they unpacked by layers from below; one that takes layers by digest pulls less, never more.
  const content = { blobs: new Set<string>(), snapshots: chainsOf(present), partial: new Map<string, number>() };
  const runtime = claimedNodes(known.managed.get(cluster))[0]?.runtime ?? '';
  const states = runtime.startsWith('cri-o ')
    ? judgeLayers(missing, { ...content, snapshots: undefined }, present)
    : judgeLayers(missing, content);
  const sums = sumLayers(listed.list.layers, states, content.partial);
  const needs = { missingBytes: sums.missing, storedBytes: sums.stored, packedBytes: 0, missingImages: missing.length };
  return { source: { kind: 'earlier' as const, by: first.by }, needs };
}

const chainsOf = (images: ListedImages['images']): ReadonlySet<string> => new Set(images.flatMap(({ layers }) => chainOf(layers) ?? []));

function rateOf(cluster: string, { rate, configAnnotations, left }: PullKnowledge): PullFacts['rate'] {
  if (rate !== undefined) return { bytesPerSecond: rate, why: 'the rate that was given' };
  const measured = left.reports.get(cluster)?.report.bytesPerSecond;
  if (measured !== undefined && measured > 0) return { bytesPerSecond: measured, why: 'the rate that its puller measured' };
  const { bytesPerSecond } = readBandwidth(configAnnotations);
  return bytesPerSecond === undefined ? undefined : { bytesPerSecond, why: 'the bandwidth of its PreCachingConfig' };
}
