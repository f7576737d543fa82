import type { ClusterVersion, ConditionalUpdate, ConditionalUpdateRisk, Release } from '@flotilla/api/config';
import { type ClusterRisk, clusterVerdicts, tellRisks, withClusterRisks } from '../update-graph/cluster-risks.ts';
import type { RiskVerdict } from '../update-graph/promql-answers.ts';
import { listUpdates } from '../update-graph/recommendation.ts';
import type { RiskyUpdate } from '../update-graph/updates.ts';
import type { UpgradeRisk } from './risks.ts';

/** Feature gate under which an admin accepts risks by their names, and the cluster's own risks speak against updates. */
export const ACCEPT_RISKS = 'ClusterUpdateAcceptRisks';

/** Findings that the lists of updates are made of. */
export interface FoundUpdates {
  readonly updates: readonly Release[];
  readonly conditional: readonly RiskyUpdate[];
  readonly verdicts: readonly (readonly [name: string, verdict: RiskVerdict])[];
  readonly alerts: readonly ClusterRisk[];
}

interface RiskyContext {
  readonly object: ClusterVersion;
  /** The cluster's own risks of an update to another minor or major version. */
  readonly risks: readonly UpgradeRisk[];
  readonly version: string;
  readonly nowMs: number;
}

/** Names of the risks that an admin accepts for the update that is asked for. */
const acceptedNames = ({ spec }: ClusterVersion): ReadonlySet<string> =>
  new Set((spec.desiredUpdate?.acceptRisks ?? []).map(({ name }) => name));

/** Updates with the risks of the cluster beside those of the graph, accepted ones aside; what is not known yet stays so (spec/cvo 5.7). */
export function riskyUpdates<T extends { readonly found?: FoundUpdates | undefined }>(
  known: T | undefined,
  { object, risks, version, nowMs }: RiskyContext,
):
  | (T & { available: readonly Release[] | null; conditional: readonly ConditionalUpdate[]; risks: readonly ConditionalUpdateRisk[] })
  | undefined {
  if (!known) return undefined;
  const { updates = [], conditional = [], verdicts = [], alerts = [] } = known.found ?? {};
  const own = [...risks, ...alerts];
  const all = new Map([...clusterVerdicts(own), ...verdicts]);
  const { status } = object;
  const listed = listUpdates({
    ...withClusterRisks({ updates, conditional }, own, version),
    verdicts: all,
    accepted: acceptedNames(object),
    listed: status?.conditionalUpdates ?? [],
    nowMs,
  });
  return { ...known, ...listed, ...tellRisks(listed.conditional, all, { listed: status?.conditionalUpdateRisks ?? [], nowMs }) };
}

/** The risks of an update that apply to the cluster and that its admin accepted; for the record of why it was taken. */
export function acceptedExposure(object: ClusterVersion, image: string): { readonly image: string; readonly names: readonly string[] } {
  const accepted = acceptedNames(object);
  const update = object.status?.conditionalUpdates?.find(({ release }) => release.image === image);
  const applies = ({ conditions }: ConditionalUpdateRisk) =>
    conditions?.some(({ type, status }) => type === 'Applies' && status === 'True') ?? false;
  const names = (update?.risks ?? []).filter((risk) => accepted.has(risk.name) && applies(risk)).map(({ name }) => name);
  return { image, names: names.toSorted() };
}
