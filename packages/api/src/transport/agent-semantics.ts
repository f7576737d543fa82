import type { Condition } from '../kubernetes.ts';
import { ACTION_COMPLETED, ActionReason } from './managed-cluster-action.ts';
import { VIEW_PROCESSING, type ViewReason } from './managed-cluster-view.ts';

/**
 * What the agent on a spoke decides, as pure functions (spec/ocm 1.3 to 1.11): condition texts, the patch of an Update, the
 * spellings of a resource, when a view is read again. Our agent and the simulated spokes both run on these.
 */

/** Field manager of the agent's writes on a spoke. */
export const AGENT_FIELD_MANAGER = 'work-manager-agent';

/** Hub writes of one agent, both kinds together (spec/ocm 1.6). */
export const AGENT_HUB_QPS = 5;
export const AGENT_HUB_BURST = 10;

/** Seconds between two reads of a view that names no interval. */
export const DEFAULT_VIEW_INTERVAL_SECONDS = 30;

const SERVER_CANNOT_FIND = 'the server could not find the requested resource';

/** A refusal whose message goes into a condition word for word. */
export class SpokeRefusal extends Error {}

/** Message of a failed call, for a condition. The agent's own refusals and the server's words pass unchanged. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** RFC 3339 with whole seconds, as metav1.Time is written. */
export const conditionTime = (nowMs: number): string => `${new Date(nowMs).toISOString().slice(0, 19)}Z`;

/** Sets a condition as `meta.SetStatusCondition` does: it keeps its place, and `lastTransitionTime` moves only when the status flips. */
export function withCondition(
  conditions: readonly Condition[] | null | undefined,
  next: Omit<Condition, 'lastTransitionTime'>,
  nowMs: number,
): Condition[] {
  const old = conditions?.find(({ type }) => type === next.type);
  const condition = { ...next, lastTransitionTime: old?.status === next.status ? old.lastTransitionTime : conditionTime(nowMs) };
  if (!old) return [...(conditions ?? []), condition];
  return (conditions ?? []).map((other) => (other === old ? condition : other));
}

/** What became of one execution: the condition to write and `status.result`. */
export interface ActionVerdict {
  readonly condition: Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;
  readonly result: unknown;
}

/** The verdict of an action that worked; `result` echoes the template, or is null (spec/ocm 1.5). */
export const actionDone = (result: unknown): ActionVerdict => ({
  condition: { type: ACTION_COMPLETED, status: 'True', reason: ActionReason.done, message: 'Resource action is done.' },
  result,
});

const FAILED_REASON: ReadonlyMap<string, string> = new Map([
  ['Create', ActionReason.createFailed],
  ['Update', ActionReason.updateFailed],
  ['Delete', ActionReason.deleteFailed],
]);

/** The verdict of an action that did not work, `reason` by its type (spec/ocm 1.3). */
export const actionFailed = (actionType: string, error: string): ActionVerdict => ({
  condition: {
    type: ACTION_COMPLETED,
    status: 'False',
    reason: FAILED_REASON.get(actionType) ?? ActionReason.typeInvalid,
    message: `failed to handle ${actionType} action with err: ${error}`,
  },
  result: null,
});

/** The condition of a view after one read: an error text keeps the old result (spec/ocm 1.10). */
export const viewCondition = (
  reason: (typeof ViewReason)[keyof typeof ViewReason],
  message: string,
): Omit<Condition, 'lastTransitionTime' | 'observedGeneration'> => ({
  type: VIEW_PROCESSING,
  status: reason === 'GetResourceProcessing' ? 'True' : 'False',
  reason,
  message,
});

/** What to do with a view now. `requeueAfterMs` undefined: wait for the next touch. */
export interface PollDecision {
  readonly query: boolean;
  readonly requeueAfterMs: number | undefined;
}

/**
 * Whether a view is read now (spec/ocm 1.11): not while its condition is younger than the interval (a blackout that also hides spec
 * changes); a view without a condition at once; a negative interval at every touch and never by time.
 */
export function decidePoll(view: { intervalSeconds?: number; lastTransitionTime?: string }, nowMs: number): PollDecision {
  const intervalMs = (view.intervalSeconds || DEFAULT_VIEW_INTERVAL_SECONDS) * 1000;
  const age = view.lastTransitionTime === undefined ? Number.POSITIVE_INFINITY : nowMs - Date.parse(view.lastTransitionTime);
  if (age < intervalMs) return { query: false, requeueAfterMs: intervalMs - age };
  return { query: true, requeueAfterMs: intervalMs > 0 ? intervalMs : undefined };
}

type Json = Record<string, unknown>;
/** A JSON object, as opposed to a list, a scalar or null. */
export const isJsonObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deep equality of JSON values; the order of keys does not count. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => isSameJson(item, b[index]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]));
}

/**
 * The JSON merge patch that turns `current` into `template`: every key the template lacks is nulled, lists are replaced whole
 * (spec/ocm 1.4). Undefined when nothing differs.
 */
export function fullReplacePatch(current: Json, template: Json): Json | undefined {
  const patch: Json = {};
  for (const key of Object.keys(current)) if (!Object.hasOwn(template, key)) patch[key] = null;
  for (const [key, wanted] of Object.entries(template)) {
    const live = current[key];
    const change =
      isJsonObject(live) && isJsonObject(wanted) ? fullReplacePatch(live, wanted) : isSameJson(live, wanted) ? undefined : wanted;
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Applies a JSON merge patch (RFC 7396). */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: Json = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatched(merged[key], value);
  }
  return merged;
}

/** One kind a spoke serves. */
export interface ServedResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
}

/** One try to find a kind. Without `group` any group matches, in the server's order; without `version` the preferred one. */
export interface ResourceLookup {
  /** `resource` matches plural or singular without regard to case, `kind` the exact kind. */
  readonly by: 'resource' | 'kind';
  readonly name: string;
  readonly group?: string;
  readonly version?: string;
}

/** How a spelling is looked up, in order (spec/ocm 1.9). */
export interface ResourceSpelling {
  readonly lookups: readonly ResourceLookup[];
  /** After this many lookups missed, the cached discovery is dropped: the price of `{resource}.{dotted group}`. */
  readonly resetAfter: number | undefined;
  /** The error when nothing matches. */
  readonly failure: string;
}

/** Reads `resource`, `{resource}.{group}` or `{resource}.{version}.{group}`, singular, plural or kind. */
export function parseResourceSpelling(text: string): ResourceSpelling {
  const [name = '', ...rest] = text.split('.');
  const group = rest.join('.');
  const grouped = group === '' ? {} : { group };
  const versioned = rest.length >= 2 ? { version: rest[0], group: rest.slice(1).join('.') } : undefined;
  const lookups: ResourceLookup[] = [
    ...(versioned ? [{ by: 'resource' as const, name, ...versioned }] : []),
    { by: 'resource', name, ...grouped },
    ...(versioned ? [{ by: 'kind' as const, name, ...versioned }] : []),
    { by: 'kind', name, ...grouped },
  ];
  const version = group === '' ? '' : `${group}/`;
  const failure = `fail to mapping GroupKind ${group === '' ? name : `${name}.${group}`}, GroupKindVersion , resource:${text} err: no matches for kind "${name}" in version "${version}"`;
  return { lookups, resetAfter: versioned ? 1 : undefined, failure };
}

/** Whether a served kind answers a lookup; the group is compared only when the lookup names one. */
export function matchesLookup(served: ServedResource, lookup: ResourceLookup): boolean {
  if (lookup.group !== undefined && served.group !== lookup.group) return false;
  if (lookup.version !== undefined && served.version !== lookup.version) return false;
  if (lookup.by === 'kind') return served.kind === lookup.name;
  const wanted = lookup.name.toLowerCase();
  return served.plural === wanted || served.singular === wanted;
}

/** `group/version`, or the version alone for the core group. */
export const groupVersion = (group: string, version: string): string => (group === '' ? version : `${group}/${version}`);

/** The error for a kind no server knows. */
export const noMatchesForKind = (kind: string, apiVersion: string): string => `no matches for kind "${kind}" in version "${apiVersion}"`;

/** `plural.group "name"`, as API servers name an object in messages. */
export const qualifiedName = (served: ServedResource, name: string): string =>
  `${served.plural}${served.group === '' ? '' : `.${served.group}`} "${name}"`;

/** The namespace a Create or Update goes to; throws `SpokeRefusal` with the text of spec/ocm 1.3. */
export function writeNamespace(
  served: ServedResource,
  kubeNamespace: string | undefined,
  templateNamespace: string | undefined,
): string | undefined {
  const namespace = kubeNamespace || templateNamespace || undefined;
  if (served.namespaced && namespace === undefined) throw new SpokeRefusal('namespace must be set');
  if (!served.namespaced && namespace !== undefined) throw new SpokeRefusal(SERVER_CANNOT_FIND);
  if (kubeNamespace && templateNamespace && kubeNamespace !== templateNamespace)
    throw new SpokeRefusal('the namespace of the provided object does not match the namespace sent on the request');
  return namespace;
}

/** Refuses a read or Delete whose namespace does not fit the kind's scope. */
export function checkScope(served: ServedResource, namespace: string | undefined): void {
  if (served.namespaced !== Boolean(namespace)) throw new SpokeRefusal(SERVER_CANNOT_FIND);
}

/** A token bucket: `reserve` takes one token and says how many milliseconds to wait for it. */
export interface TokenBucket {
  reserve(nowMs: number): number;
}

/** A bucket that starts full; default the agent's own limit. */
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
