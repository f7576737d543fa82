import type { Condition } from '@flotilla/api';
import { ACTION_COMPLETED, ActionReason, VIEW_PROCESSING, type ViewReason } from '@flotilla/api/ocm';
import { ApiError, RuntimeErrorCode, type ServedResource, ServerRefusal } from '@flotilla/runtime';

/**
 * Decisions of a spoke's agent as pure functions (spec/ocm 1.3 to 1.11): condition texts, the patch of an Update, spellings of a resource, polls of a
 * view. Our agent and the simulated spokes both use them.
 */

/** Field manager of the agent's writes on a spoke. */
export const AGENT_FIELD_MANAGER = 'work-manager-agent';

/** Hub writes a second of one agent, both kinds together (spec/ocm 1.6). */
const AGENT_HUB_QPS = 5;
/** Burst of hub writes before the rate applies (spec/ocm 1.6). */
const AGENT_HUB_BURST = 10;

/** Seconds between two reads of a view without an interval. */
const DEFAULT_VIEW_INTERVAL_SECONDS = 30;

const SERVER_CANNOT_FIND = 'the server could not find the requested resource';

/** Message of a failed call, for a condition. Refusals by the agent and messages of the server pass unchanged. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const AWAY: readonly string[] = [
  RuntimeErrorCode.unreachable,
  RuntimeErrorCode.execPlugin,
  RuntimeErrorCode.timeout,
  RuntimeErrorCode.unauthorized,
  RuntimeErrorCode.throttled,
];

/** True when the API server gave no verdict: it is away, overloaded, or does not know the agent at the moment. */
export function isAway(error: unknown): boolean {
  const cause = error instanceof ServerRefusal ? error.cause : error;
  return cause instanceof ApiError && (AWAY.includes(cause.code) || [502, 503, 504].includes(cause.status));
}

/** Result of one execution: the condition to write, and `status.result`. */
export interface ActionVerdict {
  readonly condition: Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;
  readonly result: unknown;
}

/** Builds the verdict of a successful action; `result` echoes the template, or is null (spec/ocm 1.5). */
export const actionDone = (result: unknown): ActionVerdict => ({
  condition: { type: ACTION_COMPLETED, status: 'True', reason: ActionReason.done, message: 'Resource action is done.' },
  result,
});

const FAILED_REASON: ReadonlyMap<string, string> = new Map([
  ['Create', ActionReason.createFailed],
  ['Update', ActionReason.updateFailed],
  ['Delete', ActionReason.deleteFailed],
]);

/** Builds the verdict of a failed action, with the reason of its type (spec/ocm 1.3). */
export const actionFailed = (actionType: string, error: string): ActionVerdict => ({
  condition: {
    type: ACTION_COMPLETED,
    status: 'False',
    reason: FAILED_REASON.get(actionType) ?? ActionReason.typeInvalid,
    message: `failed to handle ${actionType} action with err: ${error}`,
  },
  result: null,
});

/** Builds the condition of a view after one read; a failed read keeps the old result (spec/ocm 1.10). */
export const viewCondition = (
  reason: (typeof ViewReason)[keyof typeof ViewReason],
  message: string,
): Omit<Condition, 'lastTransitionTime' | 'observedGeneration'> => ({
  type: VIEW_PROCESSING,
  status: reason === 'GetResourceProcessing' ? 'True' : 'False',
  reason,
  message,
});

/** Next act on a view. `requeueAfterMs` undefined: only an event causes the next one. */
interface PollDecision {
  readonly query: boolean;
  readonly requeueAfterMs: number | undefined;
}

/**
 * Decides whether a view is read now (spec/ocm 1.11). A condition younger than the interval forbids it, which also hides spec changes. A view without
 * a condition is read at once, one with a negative interval at every event and never by time.
 */
export function decidePoll(view: { intervalSeconds?: number; lastTransitionTime?: string }, nowMs: number): PollDecision {
  const intervalMs = (view.intervalSeconds || DEFAULT_VIEW_INTERVAL_SECONDS) * 1000;
  const age = view.lastTransitionTime === undefined ? Number.POSITIVE_INFINITY : nowMs - Date.parse(view.lastTransitionTime);
  if (age < intervalMs) return { query: false, requeueAfterMs: intervalMs - age };
  return { query: true, requeueAfterMs: intervalMs > 0 ? intervalMs : undefined };
}

/** Chooses the namespace of a Create or Update; throws `ServerRefusal` with the text of spec/ocm 1.3. */
export function writeNamespace(
  served: ServedResource,
  kubeNamespace: string | undefined,
  templateNamespace: string | undefined,
): string | undefined {
  const namespace = kubeNamespace || templateNamespace || undefined;
  if (served.namespaced && namespace === undefined) throw new ServerRefusal('namespace must be set');
  if (!served.namespaced && namespace !== undefined) throw new ServerRefusal(SERVER_CANNOT_FIND);
  if (kubeNamespace && templateNamespace && kubeNamespace !== templateNamespace)
    throw new ServerRefusal('the namespace of the provided object does not match the namespace sent on the request');
  return namespace;
}

/** Refuses a read or Delete whose namespace does not fit the kind's scope. */
export function checkScope(served: ServedResource, namespace: string | undefined): void {
  if (served.namespaced !== Boolean(namespace)) throw new ServerRefusal(SERVER_CANNOT_FIND);
}

/** Token bucket: `reserve` takes a token and returns the milliseconds to wait for it. */
export interface TokenBucket {
  reserve(nowMs: number): number;
}

/** Creates a full bucket; default: the agent's own limit. */
export function createTokenBucket(qps = AGENT_HUB_QPS, burst = AGENT_HUB_BURST): TokenBucket {
  let tokens = burst;
  let last: number | undefined;
  return {
    reserve(nowMs) {
      tokens = Math.min(burst, tokens + (Math.max(0, nowMs - (last ?? nowMs)) / 1000) * qps);
      last = nowMs;
      tokens -= 1;
      return tokens >= 0 ? 0 : (-tokens / qps) * 1000;
    },
  };
}
