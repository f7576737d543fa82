import type { ClusterVersion, ConditionalUpdate, Release } from '@flotilla/api/config';
import {
  type AnswerPromql,
  type ClusterRisk,
  DEFAULT_UPDATE_SERVICE,
  evaluateRisk,
  type KnownUpdates,
  listUpdates,
  type Retrieval,
  type UpdateQuery,
} from '@flotilla/release';

/** The running release, as far as its updates depend on it. */
export type RunningRelease = Pick<Release, 'version' | 'architecture'>;

/** Settings that decide about updates beside the ClusterVersion. */
export interface UpdateSettings {
  /** Asked instead of the service that the ClusterVersion names. */
  readonly service?: string | undefined;
  /** Architecture of the machine, as Go names it. */
  readonly machine: string;
}

/** Several architectures are asked for, which the running release has not. */
export const isMigration = ({ spec }: ClusterVersion, { architecture }: RunningRelease): boolean =>
  spec.desiredUpdate?.architecture === 'Multi' && architecture !== 'Multi';

/** Builds the query for the updates of a cluster. */
export function queryOf(object: ClusterVersion, running: RunningRelease, { service, machine }: UpdateSettings): UpdateQuery {
  const { clusterID, channel = '', upstream } = object.spec;
  const isMulti = running.architecture === 'Multi' || isMigration(object, running);
  return {
    service: service || upstream || DEFAULT_UPDATE_SERVICE,
    clusterId: clusterID,
    architecture: isMulti ? 'multi' : machine,
    channel,
    version: running.version,
  };
}

interface KnownContext {
  readonly retrieval: Retrieval;
  readonly answer: AnswerPromql;
  /** Risks that monitoring told of; default none. */
  readonly alerts?: readonly ClusterRisk[];
  /** Conditional updates as they are listed now. */
  readonly listed: readonly ConditionalUpdate[];
  readonly nowMs: number;
}

/** Judges the answers about updates for the status of a ClusterVersion. */
export function knownUpdates({ retrieval, answer, alerts = [], listed, nowMs }: KnownContext): KnownUpdates {
  const { updates, refusal } = retrieval;
  const { updates: plain = [], conditional = [], current } = updates ?? {};
  const risks = new Map(conditional.flatMap((update) => update.risks.map((risk) => [risk.name, risk] as const)));
  const verdicts = new Map([...risks].map(([name, risk]) => [name, evaluateRisk(risk, answer)] as const));
  const { available, conditional: judged } = listUpdates({ updates: plain, conditional, verdicts, accepted: new Set(), listed, nowMs });
  return {
    retrieved: refusal ? { type: 'RetrievedUpdates', status: 'False', ...refusal } : { type: 'RetrievedUpdates', status: 'True' },
    available,
    conditional: judged,
    current,
    found: { updates: plain, conditional, verdicts: [...verdicts], alerts },
  };
}
