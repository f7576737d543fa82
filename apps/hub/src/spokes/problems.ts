/** Errors of what is written for spokes, as far as they last. */
import { errorMessage, FlotillaError, WaitingError } from '@flotilla/api';
import type { RolloutProblem } from '@flotilla/rollout';
import { ApiError, isConflict } from '@flotilla/runtime';
import type { SpokeKey, SpokePart } from './part.ts';

/** Milliseconds for which an error is nobody's news: shorter ones pass before anybody reads them. */
const PASSING_MS = 5_000;
/** Milliseconds for which an API server refuses until that counts: a webhook under change may refuse, too. */
const REFUSED_MS = 15_000;

/** An error that lasts. */
export interface Problem extends RolloutProblem {
  /** Words of the error alone. */
  readonly error: string;
}

/** Failures of one spoke in a row; times in milliseconds since the epoch. */
interface Found {
  readonly since: number;
  readonly refusedSince: number | undefined;
  readonly problem: Problem | undefined;
}

/** Lasting errors by part and spoke. The next failures rebuild them after a restart. */
export class Problems {
  /** Failures by uid of the upgrade, then by part and cluster, which is `''` for the Placements. */
  readonly #found = new Map<string, Map<string, Found>>();
  readonly #onChange: (uid: string) => void;
  readonly #now: () => number;

  /** @param onChange receives the uid of an upgrade when a problem of it appears, changes or goes */
  constructor({ onChange, now }: { readonly onChange: (uid: string) => void; readonly now: () => number }) {
    this.#onChange = onChange;
    this.#now = now;
  }

  /** Returns an upgrade's problems of a part by cluster. */
  of(part: SpokePart['name'], uid: string): ReadonlyMap<string, Problem> {
    const found = [...(this.#found.get(uid) ?? [])];
    return new Map(
      found.flatMap(([id, { problem }]) => (problem && id.startsWith(`${part} `) ? [[id.slice(part.length + 1), problem] as const] : [])),
    );
  }

  /** Returns an upgrade's problems by cluster, whatever the part. */
  ofAll(uid: string): ReadonlyMap<string, Problem> {
    const found = [...(this.#found.get(uid) ?? [])];
    return new Map(found.flatMap(([id, { problem }]) => (problem ? [[id.slice(id.indexOf(' ') + 1), problem] as const] : [])));
  }

  forget(uid: string): void {
    this.#found.delete(uid);
  }

  /** Takes over how the writes of a part ended; undefined: they are done, or not wanted any more. */
  note(part: SpokePart['name'], { upgrade: uid, cluster }: SpokeKey, error: unknown): void {
    const id = `${part} ${cluster}`;
    const before = this.#found.get(uid)?.get(id);
    if (error === undefined) {
      if (before) this.#found.get(uid)?.delete(id);
      if (before?.problem) this.#onChange(uid);
      return;
    }
    // Another writer was first, or the caches are stale: the next plan differs.
    if (isConflict(error) || (error instanceof FlotillaError && PASSING.has(error.code))) return;
    const found = this.#next(before, error);
    const ofUpgrade = this.#found.get(uid) ?? new Map<string, Found>();
    this.#found.set(uid, ofUpgrade.set(id, found));
    if (before?.problem?.message !== found.problem?.message || before?.problem?.isRefused !== found.problem?.isRefused) this.#onChange(uid);
  }

  #next(before: Found | undefined, error: unknown): Found {
    const now = this.#now();
    // A start in the future predates a step back of the clock.
    const since = Math.min(before?.since ?? now, now);
    const refusedSince = isRefusal(error) ? Math.min(before?.refusedSince ?? now, now) : undefined;
    const isRefused = refusedSince !== undefined && now - refusedSince >= REFUSED_MS;
    const isLasting = now - since >= PASSING_MS;
    return { since, refusedSince, problem: isLasting ? { message: describe(error), error: errorMessage(error), isRefused } : undefined };
  }
}

const PASSING: ReadonlySet<string> = new Set(['FLOTILLA_CACHE_BEHIND', 'FLOTILLA_WAITING_FOR_RETRY']);

/** True for errors that the same call would get again: a missing right, a denied admission, an invalid object. */
const isRefusal = (error: unknown): boolean => error instanceof ApiError && [400, 403, 413, 422].includes(error.status);

function describe(error: unknown): string {
  const message = errorMessage(error);
  if (error instanceof WaitingError) return message;
  if (error instanceof ApiError && error.status === 403)
    return `${message}; give the hub's account the right to it, or correct the policy that denies it`;
  return isRefusal(error) ? `${message}; correct what it names` : `${message}; it is tried again`;
}
