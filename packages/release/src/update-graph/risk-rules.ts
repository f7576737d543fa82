import type { ConditionalUpdateRisk } from '@flotilla/api/config';

/** Exposure of a cluster to a risk, or the reason why it is not known. */
export type Exposure = { readonly matches: boolean } | { readonly error: string };

/** Answers a PromQL rule now, from what is known. */
export type AnswerPromql = (query: string) => Exposure;

/** Status, reason and message of the condition `Applies` of a risk. */
export interface RiskVerdict {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: 'Match' | 'NotMatch' | 'EvaluationFailed' | `Alert:${string}`;
  readonly message: string;
}

/** Decides if a risk applies: the first rule that can be evaluated counts (spec/cvo 5.7). */
export function evaluateRisk({ name, message, url, matchingRules }: ConditionalUpdateRisk, answer: AnswerPromql): RiskVerdict {
  const errors: string[] = [];
  for (const { type, promql } of matchingRules) {
    const exposure = type === 'PromQL' && promql ? answer(promql.promql) : evaluateOther(type);
    if ('matches' in exposure)
      return exposure.matches ? { status: 'True', reason: 'Match', message: '' } : { status: 'False', reason: 'NotMatch', message: '' };
    errors.push(exposure.error);
  }
  const why = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
  return {
    status: 'Unknown',
    reason: 'EvaluationFailed',
    message: `Could not evaluate exposure to update risk ${name} (${why})\n  ${name} description: ${message}\n  ${name} URL: ${url}`,
  };
}

const evaluateOther = (type: string): Exposure =>
  type === 'Always' ? { matches: true } : { error: `rules of type ${JSON.stringify(type)} cannot be evaluated` };
