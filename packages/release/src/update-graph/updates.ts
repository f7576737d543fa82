import type { ConditionalUpdateRisk, Release } from '@flotilla/api/config';
import { parseReleaseDetails } from '../payload/metadata.ts';
import { parseVersion, type Version } from '../semantic-version.ts';
import { type GraphRisk, invalidGraph, type UpdateGraph } from './graph.ts';
import { retrievalFailed, type UpdateRefusal } from './query.ts';

interface UpdateStart {
  readonly version: string;
  readonly channel: string;
  /** `spec.desiredUpdate` asks for several architectures, which the running release has not. */
  readonly isMigration: boolean;
}

/** An update that risks speak against. */
export interface RiskyUpdate {
  readonly release: Release;
  readonly risks: readonly ConditionalUpdateRisk[];
}

/** Updates of the running release as a graph has them. */
export interface GraphUpdates {
  readonly current: Release;
  readonly updates: readonly Release[];
  readonly conditional: readonly RiskyUpdate[];
}

type Node = UpdateGraph['nodes'][number];

/**
 * Finds the updates of the running release in a graph (spec/cvo 5.7). Where it is not in the graph, that is told as the RetrievedUpdates
 * condition tells it.
 * @throws ReleaseError `FLOTILLA_UPDATE_GRAPH_INVALID` naming what in the graph cannot be used
 */
export function findUpdates(graph: UpdateGraph, { version, channel, isMigration }: UpdateStart): GraphUpdates | UpdateRefusal {
  const places = placesOf(graph);
  const wanted = parseVersion(version);
  const at = wanted && places.get(keyOf(wanted));
  const node = at === undefined ? undefined : graph.nodes[at];
  if (node === undefined)
    return retrievalFailed(
      'VersionNotFound',
      `currently reconciling cluster version ${version} not found in the ${JSON.stringify(channel)} channel`,
    );
  const current = toRelease(node);
  if (isMigration) return { current, updates: [current], conditional: [] };
  const conditional = conditionalUpdates(graph, version, places);
  const images = new Set(conditional.map(({ release }) => release.image));
  const targets = new Set(graph.edges.filter(([from]) => from === at).map(([, to]) => to));
  const updates = [...targets].flatMap((to) => (graph.nodes[to] ? [toRelease(graph.nodes[to])] : []));
  return {
    current,
    updates: updates.filter(({ image }) => !images.has(image)),
    conditional: unambiguous(conditional).flatMap(withUsableRisks),
  };
}

/** Where each version stands; the first of several counts. */
function placesOf({ nodes }: UpdateGraph): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [index, { version }] of nodes.entries()) {
    const parsed = parseVersion(version);
    if (!parsed) throw invalidGraph(`nodes.${index}.version: ${JSON.stringify(version).slice(0, 120)} is not a semantic version`);
    const key = keyOf(parsed);
    if (!places.has(key)) places.set(key, index);
  }
  return places;
}

/** The same for versions that count as equal: builds do not matter. */
const keyOf = ({ version }: Version): string => version;

const toRelease = ({ version, payload, metadata }: Node): Release => ({ version, image: payload, ...parseReleaseDetails(metadata ?? {}) });

interface ConditionalEdge {
  readonly release: Release;
  readonly risks: readonly GraphRisk[];
}

function conditionalUpdates(
  { nodes, conditionalEdges }: UpdateGraph,
  version: string,
  places: ReadonlyMap<string, number>,
): ConditionalEdge[] {
  return conditionalEdges.flatMap(({ edges, risks }) =>
    (edges ?? [])
      .filter(({ from }) => from === version)
      .map(({ to }) => {
        const target = parseVersion(to);
        const node = target && nodes[places.get(keyOf(target)) ?? -1];
        if (!node) throw invalidGraph(`no node for conditional update ${to.slice(0, 120)}`);
        return { release: toRelease(node), risks: risks ?? [] };
      }),
  );
}

/** Several entries to one image contradict each other: nobody knows which risks are its own. */
function unambiguous(updates: readonly ConditionalEdge[]): ConditionalEdge[] {
  const byImage = Map.groupBy(updates, ({ release }) => release.image);
  return updates.filter(({ release }) => byImage.get(release.image)?.length === 1);
}

/** Limits of the server for a conditional update; one beyond them is not listed, or nothing else of the status would be written. */
const storable = { risks: 200, name: 256, message: 16_384, url: 2_048, promql: 32_768 } as const;

/** A risk that nobody can evaluate makes its update none; so do no risks at all, and two of one name. */
function withUsableRisks({ release, risks }: ConditionalEdge): RiskyUpdate[] {
  const usable = risks.map(({ matchingRules, ...risk }) => ({ ...risk, matchingRules: (matchingRules ?? []).flatMap(usableRule) }));
  const names = new Set(usable.map(({ name }) => name));
  const isWhole = usable.length > 0 && usable.length <= storable.risks && names.size === usable.length && usable.every(isStorable);
  return isWhole ? [{ release, risks: usable.map((risk) => ({ ...risk, conditions: undefined })) }] : [];
}

const isWithin = (text: string, most: number): boolean => text !== '' && text.length <= most;

const isStorable = ({ name, message, url, matchingRules }: GraphRisk & { readonly matchingRules: readonly Rule[] }): boolean =>
  isWithin(name, storable.name) &&
  isWithin(message, storable.message) &&
  isWithin(url, storable.url) &&
  /^https?:\/\/\S+$/i.test(url) &&
  URL.canParse(url) &&
  matchingRules.length > 0;

type Rule = ConditionalUpdateRisk['matchingRules'][number];

function usableRule({ type, promql }: NonNullable<GraphRisk['matchingRules']>[number]): Rule[] {
  if (type === 'Always' && !promql) return [{ type }];
  if (type === 'PromQL' && promql && isWithin(promql.promql, storable.promql)) return [{ type, promql: { promql: promql.promql } }];
  return [];
}
