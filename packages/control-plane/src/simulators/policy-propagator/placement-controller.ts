import { isSameJson, Label, refOfKey, withCondition } from '@flotilla/api';
import { type ManagedCluster, Placement, PlacementDecision } from '@flotilla/api/ocm';
import { type Client, isAlreadyExists, type ReconcileResult } from '@flotilla/runtime';
import { ignoreGone } from '../hub-writer.ts';
import { divideIntoDecisions, type PlacementOutcome, type SetBinding, selectForPlacement } from './placement-selection.ts';
import { BY_PLACEMENT, type PropagatorCaches } from './propagator-caches.ts';

interface PlacementDeps {
  readonly client: Client;
  readonly caches: PropagatorCaches;
  readonly now: () => number;
  /** Binding of a namespace to cluster sets. */
  readonly boundTo: (namespace: string) => SetBinding;
}

const DISABLED = 'cluster.open-cluster-management.io/experimental-scheduling-disable';
/** Each decision names its Placement in a label, whose value has at most so many characters. */
const LABEL_LENGTH = 63;

/** Makes the decisions and the status of one Placement (key `namespace/name`) true; one that is gone takes its decisions with it. */
export async function reconcilePlacement(key: string, deps: PlacementDeps): Promise<ReconcileResult> {
  const { caches, client } = deps;
  const { namespace = '', name } = refOfKey(key);
  const placement = caches.placements.get({ namespace, name });
  const current = caches.decisions.byIndex(BY_PLACEMENT, key).sort((a, b) => numberOf(a) - numberOf(b));
  if (!placement || placement.metadata.deletionTimestamp) {
    for (const { metadata } of current) await client.delete(PlacementDecision, metadata, { uid: metadata.uid });
    return {};
  }
  if (placement.metadata.annotations?.[DISABLED] === 'true') return {};
  // The API server refuses its decisions, and the controller tries again and again without saying so anywhere.
  if (name.length > LABEL_LENGTH) return {};
  const outcome = selectForPlacement(placement.spec, caches.clusters.list(), deps.boundTo(namespace));
  const wanted = divideIntoDecisions(outcome.clusters, current.map(clustersOf));
  await Promise.all(wanted.map((clusters, index) => ensureDecision(placement, { index, current: current[index], clusters }, deps)));
  for (const { metadata } of current.slice(wanted.length)) await client.delete(PlacementDecision, metadata, { uid: metadata.uid });
  await reportOutcome(placement, outcome, deps);
  return {};
}

/** The clusters of one decision. */
export const clustersOf = ({ status }: PlacementDecision): string[] => (status?.decisions ?? []).map(({ clusterName }) => clusterName);

const numberOf = ({ metadata }: PlacementDecision): number => Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1));

interface Decision {
  readonly index: number;
  readonly current: PlacementDecision | undefined;
  readonly clusters: readonly string[];
}

async function ensureDecision({ metadata }: Placement, { index, current, clusters }: Decision, { client }: PlacementDeps): Promise<void> {
  const ref = current?.metadata ?? { namespace: metadata.namespace, name: `${metadata.name}-decision-${index + 1}` };
  if (!current) {
    const owner = { apiVersion: Placement.apiVersion, kind: Placement.kind, name: metadata.name, uid: metadata.uid, controller: true };
    const labels = {
      [Label.placement]: metadata.name,
      'cluster.open-cluster-management.io/decision-group-index': '0',
      'cluster.open-cluster-management.io/decision-group-name': '',
    };
    await client.create(PlacementDecision, { metadata: { ...ref, labels, ownerReferences: [owner] } }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  if (current?.status?.decisions && isSameJson(clustersOf(current), clusters)) return;
  const decisions = clusters.map((clusterName) => ({ clusterName, reason: '' }));
  await client.patch(PlacementDecision, ref, { status: { decisions } }, { type: 'merge', subresource: 'status' });
}

async function reportOutcome(
  placement: Placement,
  { clusters, conditions }: PlacementOutcome,
  { client, now }: PlacementDeps,
): Promise<void> {
  const before = placement.status?.conditions ?? [];
  const after = conditions.reduce((list, condition) => withCondition(list, condition, now()), before);
  if (isSameJson(before, after) && placement.status?.numberOfSelectedClusters === clusters.length) return;
  const status = { numberOfSelectedClusters: clusters.length, conditions: after };
  await client.patch(Placement, placement.metadata, { status }, { type: 'merge', subresource: 'status' }).catch(ignoreGone);
}

/** Fields of a ManagedCluster that decide whether a Placement selects it. */
export const selectionFields = ({ metadata, spec }: ManagedCluster): string => JSON.stringify([metadata.labels, spec?.taints]);
