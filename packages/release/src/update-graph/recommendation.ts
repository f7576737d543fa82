import { type Condition, withCondition } from '@flotilla/api';
import type { ConditionalUpdate, ConditionalUpdateRisk, Release } from '@flotilla/api/config';
import { compare } from 'semver';
import { parseVersion } from '../semantic-version.ts';
import type { RiskVerdict } from './promql-answers.ts';
import type { RiskyUpdate } from './updates.ts';

type Said = Pick<Condition, 'status' | 'reason' | 'message'>;

interface RecommendationContext {
  readonly verdicts: ReadonlyMap<string, RiskVerdict>;
  readonly accepted: ReadonlySet<string>;
}

/** Characters of a condition's message that servers take. */
const MOST_MESSAGE = 32_768;

const EXPOSED_TO_NONE = 'NotExposedToRisks';

/** Makes the condition `Recommended` of an update from its risks. */
export function recommendationOf(risks: readonly ConditionalUpdateRisk[], { verdicts, accepted }: RecommendationContext): Said {
  const against = risks.flatMap((risk) => objectionOf(risk, verdicts.get(risk.name), accepted) ?? []);
  if (against.length === 0) {
    return risks.some(({ name }) => accepted.has(name) && verdicts.get(name)?.status === 'True')
      ? {
          status: 'True',
          reason: 'AllExposedRisksAccepted',
          message: 'The update is recommended, because either risk does not apply to this cluster or it is accepted by cluster admins.',
        }
      : {
          status: 'True',
          reason: EXPOSED_TO_NONE,
          message: 'The update is recommended, because none of the conditional update risks apply to this cluster.',
        };
  }
  const reasons = new Set(against.map(({ reason }) => reason));
  return {
    status: against.some(({ status }) => status === 'False') ? 'False' : 'Unknown',
    reason: reasons.size === 1 ? [...reasons].join('') : 'MultipleReasons',
    message: against
      .map(({ message }) => message)
      .join('\n\n')
      .slice(0, MOST_MESSAGE),
  };
}

function objectionOf(risk: ConditionalUpdateRisk, verdict: RiskVerdict | undefined, accepted: ReadonlySet<string>): Said | undefined {
  const { name, message, url } = risk;
  if (verdict === undefined)
    return { status: 'Unknown', reason: 'InternalErrorFoundNoRiskCondition', message: `The risk ${name} has not been evaluated.` };
  if (verdict.status === 'False' || accepted.has(name)) return undefined;
  if (verdict.status === 'True') return { status: 'False', reason: reasonOf(name, 'ExposedToRisks'), message: `${message} ${url}`.trim() };
  return { status: 'Unknown', reason: verdict.reason, message: verdict.message };
}

/** Updates as a ClusterVersion lists them. */
interface ListedUpdates {
  /** Null where there are none. */
  readonly available: readonly Release[] | null;
  readonly conditional: readonly ConditionalUpdate[];
}

interface ListInput extends RecommendationContext {
  readonly updates: readonly Release[];
  readonly conditional: readonly RiskyUpdate[];
  /** Updates that are listed now; their conditions keep their times while the status stays. */
  readonly listed: readonly ConditionalUpdate[];
  readonly nowMs: number;
}

/** Lists updates, the newest first: one that risks speak against is available only while it is recommended. */
export function listUpdates({ updates, conditional, listed, nowMs, ...context }: ListInput): ListedUpdates {
  const judged = conditional.map(({ release, risks }) => {
    const before = listed.find((update) => update.release.image === release.image)?.conditions;
    const conditions = withCondition(before, { type: 'Recommended', ...recommendationOf(risks, context) }, nowMs);
    return { release, risks: [...risks], conditions };
  });
  const isRecommended = ({ conditions }: ConditionalUpdate) =>
    conditions?.some(({ type, status }) => type === 'Recommended' && status === 'True') ?? false;
  const images = new Set(judged.map(({ release }) => release.image));
  const available = [...updates.filter(({ image }) => !images.has(image)), ...judged.filter(isRecommended).map(({ release }) => release)];
  return {
    available: available.length > 0 ? fitting(available.toSorted(newestFirst), listLimits.available) : null,
    conditional: fitting(
      judged.toSorted((a, b) => newestFirst(a.release, b.release)),
      listLimits.conditional,
    ),
  };
}

/** Room that a ClusterVersion has for updates; a status that a server refuses would say nothing at all. */
const listLimits = {
  available: { entries: 500, bytes: 131_072 },
  conditional: { entries: 500, bytes: 262_144 },
} as const;

function fitting<T>(all: readonly T[], { entries, bytes }: { readonly entries: number; readonly bytes: number }): T[] {
  let size = 0;
  const end = all.slice(0, entries).findIndex((one) => {
    size += JSON.stringify(one).length;
    return size > bytes;
  });
  return all.slice(0, end < 0 ? entries : end);
}

/** Versions that are none stand last, by their text. */
function newestFirst(a: Release, b: Release): number {
  const [left, right] = [parseVersion(a.version), parseVersion(b.version)];
  if (left && right) return compare(right, left) || (a.image < b.image ? -1 : 1);
  if (left || right) return left ? -1 : 1;
  return a.version < b.version ? 1 : -1;
}

/** A risk's or an error's name as the reason of a condition; `otherwise` where the server would refuse it. */
export const reasonOf = (name: string, otherwise: string): string =>
  /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(name) && name.length <= 1_024 ? name : otherwise;
