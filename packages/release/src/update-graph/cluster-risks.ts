import { type Condition, isSameJson, withCondition } from '@flotilla/api';
import type { ConditionalUpdate, ConditionalUpdateRisk, Release } from '@flotilla/api/config';
import { parseVersion, stepUp } from '../semantic-version.ts';
import type { RiskVerdict } from './promql-answers.ts';
import type { GraphUpdates, RiskyUpdate } from './updates.ts';

/** A risk that lies in the cluster itself, not in a release. */
export interface ClusterRisk {
  readonly name: string;
  readonly message: string;
  /** Where it is described; default: the documentation of updates. */
  readonly url?: string | undefined;
  /** Reason of its condition `Applies`; default `Match`. */
  readonly reason?: RiskVerdict['reason'];
  /** Message of its condition `Applies`; default none. */
  readonly details?: string;
  /** Speaks against every update; default: against those to another minor or major version. */
  readonly isOfEvery?: boolean;
}

const DOCUMENTATION = 'https://docs.redhat.com/en/documentation/openshift_container_platform';
/** Names that a ClusterVersion can list; an admin accepts a risk by its name. */
const nameShape = /^[A-Z][A-Za-z0-9.-]{0,255}$/;
const MOST_MESSAGE = 16_384;
const MOST_URL = 2_048;

const OWN =
  /^(?:ClusterVersionUpdating|ClusterVersionOverrides|ResourceDeletionInProgress|ClusterOperatorUpgradeable-.*|AdminAck-.*|AlertUnknown)$/;

/** True for a risk that was joined to those of a graph: what is in the cluster is looked for anew. */
export const isClusterRisk = ({ name, message }: Pick<ConditionalUpdateRisk, 'name' | 'message'>): boolean =>
  OWN.test(name) || (/^(?:\S+ )?alert /.test(message) && message.includes(`alert ${name} `));

/** Updates of a graph with what in the cluster speaks against them: one that nothing spoke against becomes conditional. */
export function withClusterRisks(
  { updates, conditional }: Pick<GraphUpdates, 'updates' | 'conditional'>,
  risks: readonly ClusterRisk[],
  version: string,
): { readonly updates: readonly Release[]; readonly conditional: readonly RiskyUpdate[] } {
  const named = risks.filter(({ name, message }) => nameShape.test(name) && message !== '');
  const against = (release: Release) => named.filter(({ isOfEvery }) => isOfEvery || isBigStep(version, release.version)).map(asRisk);
  const joined = conditional.map(({ release, risks: own }) => ({
    release,
    risks: [...own, ...against(release).filter(({ name }) => own.every((one) => one.name !== name))],
  }));
  const risky = updates.map((release) => ({ release, risks: against(release) }));
  return {
    updates: risky.filter((update) => update.risks.length === 0).map(({ release }) => release),
    conditional: [...joined, ...risky.filter((update) => update.risks.length > 0)],
  };
}

/** Versions that cannot be told apart may be any step. */
function isBigStep(from: string, to: string): boolean {
  const [one, other] = [parseVersion(from), parseVersion(to)];
  return one === undefined || other === undefined || stepUp(one, other) !== undefined;
}

const asRisk = ({ name, message, url = '' }: ClusterRisk): ConditionalUpdateRisk => ({
  name,
  message: message.slice(0, MOST_MESSAGE),
  url: url.length <= MOST_URL && /^https?:\/\/\S+$/i.test(url) && URL.canParse(url) ? url : DOCUMENTATION,
  matchingRules: [{ type: 'Always' }],
  conditions: undefined,
});

/** Verdicts about risks of the cluster: what is found applies. */
export const clusterVerdicts = (risks: readonly ClusterRisk[]): readonly (readonly [name: string, verdict: RiskVerdict])[] =>
  risks.map(({ name, reason = 'Match', details = '' }) => [name, { status: 'True', reason, message: details }]);

/** Conditional updates whose risks say whether they apply, and all of these risks once. */
interface ToldRisks {
  readonly conditional: readonly ConditionalUpdate[];
  readonly risks: readonly ConditionalUpdateRisk[];
}

/** Has each risk of an update tell whether it applies; a condition's time moves only with its status. */
export function tellRisks(
  conditional: readonly ConditionalUpdate[],
  verdicts: ReadonlyMap<string, RiskVerdict>,
  { listed, nowMs }: { readonly listed: readonly ConditionalUpdateRisk[]; readonly nowMs: number },
): ToldRisks {
  const told = (risk: ConditionalUpdateRisk): ConditionalUpdateRisk => ({
    ...risk,
    conditions: withCondition(listed.find(({ name }) => name === risk.name)?.conditions, appliesOf(verdicts.get(risk.name)), nowMs),
  });
  const updates = conditional.map((update) => ({
    ...update,
    riskNames: update.risks.map(({ name }) => name).toSorted(),
    risks: update.risks.map(told),
  }));
  const all = new Map(updates.flatMap(({ risks }) => risks.map((risk) => [risk.name, risk] as const)));
  const risks = [...all.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { conditional: updates, risks: isSameJson(risks, listed) ? listed : risks };
}

const appliesOf = (verdict: RiskVerdict | undefined): Omit<Condition, 'lastTransitionTime'> =>
  verdict
    ? { type: 'Applies', ...verdict }
    : { type: 'Applies', status: 'Unknown', reason: 'EvaluationFailed', message: 'The risk has not been evaluated.' };
