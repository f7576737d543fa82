import type { ConditionalUpdateRisk } from '@flotilla/api/config';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Pace at which a monitoring system is asked. */
export const promqlPace = {
  /** Between any two questions. */
  betweenMs: SECOND,
  /** Until an answer is asked for again. */
  answerMs: HOUR,
  /** Until a question that failed is asked again. */
  failureMs: 60 * SECOND,
  /** Until an answer no longer counts, and a question that nobody has is forgotten. */
  forgetMs: 24 * HOUR,
} as const;

interface Entry {
  wantedAtMs: number;
  /** When it was asked last, and what came of it. */
  asked?: { readonly atMs: number; readonly exposure: Exposure };
  /** The last answer that says something. */
  answer?: { readonly atMs: number; readonly exposure: Exposure };
}

interface NextQuestion {
  readonly query: string;
  readonly atMs: number;
}

/**
 * Answers of a monitoring system to the questions of risks. A look never waits: it takes what is known, and has the rest asked at a pace
 * that does not burden the system.
 */
export class PromqlAnswers {
  readonly #entries = new Map<string, Entry>();
  #lastAskedMs = Number.NEGATIVE_INFINITY;

  /** Returns the known answer to a question, or an error until there is one, and notes the question for `next`. */
  look(query: string, nowMs: number): Exposure {
    const entry = this.#entries.get(query) ?? { wantedAtMs: nowMs };
    entry.wantedAtMs = nowMs;
    this.#entries.set(query, entry);
    for (const known of [entry.answer, entry.asked]) if (known && nowMs - known.atMs < promqlPace.forgetMs) return known.exposure;
    return { error: `evaluation is throttled until ${timeOfDay(this.#dueMs(entry))}` };
  }

  /** The question whose answer is the oldest, or missing, and when it may be asked; undefined when there is none. */
  next(nowMs: number): NextQuestion | undefined {
    for (const [query, { wantedAtMs }] of this.#entries) if (nowMs - wantedAtMs >= promqlPace.forgetMs) this.#entries.delete(query);
    const due = [...this.#entries].map(([query, entry]) => ({ query, atMs: this.#dueMs(entry), askedAtMs: entry.asked?.atMs ?? 0 }));
    const [first] = due.toSorted((a, b) => a.atMs - b.atMs || a.askedAtMs - b.askedAtMs);
    return first && { query: first.query, atMs: Math.max(first.atMs, nowMs) };
  }

  begin(nowMs: number): void {
    this.#lastAskedMs = nowMs;
  }

  /** Keeps an answer; a later failure does not take its place before its day is over. */
  store(query: string, exposure: Exposure, nowMs: number): void {
    const entry = this.#entries.get(query);
    if (!entry) return;
    entry.asked = { atMs: nowMs, exposure };
    if ('matches' in exposure) entry.answer = entry.asked;
  }

  #dueMs({ asked }: Entry): number {
    const paceMs = this.#lastAskedMs + promqlPace.betweenMs;
    if (asked === undefined) return Math.max(paceMs, 0);
    const restMs = 'error' in asked.exposure ? promqlPace.failureMs : promqlPace.answerMs;
    return Math.max(paceMs, asked.atMs + restMs);
  }
}

const timeOfDay = (ms: number): string => `${new Date(ms).toISOString().slice(11, 19)}Z`;

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
