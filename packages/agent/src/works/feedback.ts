import { type Condition, isJsonObject } from '@flotilla/api';
import { type FeedbackValue, type ManifestConfig, STATUS_FEEDBACK_SYNCED, WorkStatusBound } from '@flotilla/api/ocm';
import { textOf } from '../semantics.ts';
import { parseJsonPath, valuesAt } from './json-path.ts';

type Json = Record<string, unknown>;
type FeedbackRules = ManifestConfig['feedbackRules'];
interface NamedPath {
  readonly name: string;
  readonly path: string;
  readonly version?: string | undefined;
}

/** Reasons of condition `StatusFeedbackSynced` of a manifest (spec/ocm 4.2). */
const FeedbackReason = {
  synced: 'StatusFeedbackSynced',
  none: 'NoStatusFeedbackSynced',
  failed: 'StatusFeedbackSyncFailed',
} as const;

/**
 * Modes of reading values back. `settled` reads no values of a workload whose controller lags behind its spec. `immediate` reads right after an
 * apply, as the stock work agent does, and may report the old version's readiness (spec/ocm 4.3).
 */
export const FeedbackMode = ['settled', 'immediate'] as const;
/** Mode of reading values back. */
export type FeedbackMode = (typeof FeedbackMode)[number];

/** The reading back of values in one pass over a work. */
export interface Reading {
  readonly mode: FeedbackMode;
  /** Characters that the values of the work's remaining manifests may still take. */
  room: number;
}

/** Begins to read a work's values. */
export const newReading = (mode: FeedbackMode = 'settled'): Reading => ({ mode, room: WorkStatusBound.allValues });

/** Feedback from one object. */
export interface Feedback {
  readonly values: readonly FeedbackValue[];
  readonly condition: Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;
}

/** Values of these kinds without paths of their own, by `group/kind` (spec/ocm 4.2). */
const WELL_KNOWN: Readonly<Record<string, readonly NamedPath[]>> = {
  'apps/Deployment': [
    { name: 'ReadyReplicas', path: '.status.readyReplicas' },
    { name: 'Replicas', path: '.status.replicas' },
    { name: 'AvailableReplicas', path: '.status.availableReplicas' },
  ],
  'apps/DaemonSet': [
    { name: 'NumberReady', path: '.status.numberReady' },
    { name: 'DesiredNumberScheduled', path: '.status.desiredNumberScheduled' },
    { name: 'NumberAvailable', path: '.status.numberAvailable' },
  ],
  'batch/Job': [
    { name: 'JobComplete', path: '.status.conditions[?(@.type=="Complete")].status' },
    { name: 'JobSucceeded', path: '.status.succeeded' },
  ],
  '/Pod': [
    { name: 'PodReady', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'PodPhase', path: '.status.phase' },
  ],
};

/** Builds the feedback of an unreadable object: old values are dropped, because they would look current. */
export const feedbackFailed = (message: string): Feedback => ({
  values: [],
  condition: { type: STATUS_FEEDBACK_SYNCED, status: 'False', reason: FeedbackReason.failed, message },
});

/**
 * Reads the values of all rules from one read of the object. A missing key leaves its value out. A value that is no text, integer or boolean is an
 * error of its path alone.
 */
export function readFeedback(
  object: Json,
  kind: { group: string; version: string; kind: string },
  { rules, reading = newReading() }: { readonly rules: FeedbackRules; readonly reading?: Reading | undefined },
): Feedback {
  const synced = (reason: string): Feedback['condition'] => ({ type: STATUS_FEEDBACK_SYNCED, status: 'True', reason, message: '' });
  if (!rules || rules.length === 0) return { values: [], condition: synced(FeedbackReason.none) };
  const lag = reading.mode === 'settled' && kind.group === 'apps' ? lagOf(object) : undefined;
  if (lag) return feedbackFailed(`Sync status feedback failed with error ${lag}`);
  const values = new Map<string, FeedbackValue>();
  const problems: string[] = [];
  for (const rule of rules) {
    const paths = pathsOf(rule, kind);
    if (typeof paths === 'string') problems.push(paths);
    else for (const path of paths) collect(path, object, kind.version, { values, problems, reading });
  }
  const found = [...values.values()];
  if (problems.length === 0) return { values: found, condition: synced(FeedbackReason.synced) };
  return { ...feedbackFailed(`Sync status feedback failed with error ${problems.join('; ')}`), values: found };
}

/**
 * Describes a workload whose controller lags behind its spec. Its status still reports the old version as available, which would end a rollout right
 * after its image changed. The stock agent passes such values on.
 */
function lagOf({ metadata, status }: Json): string | undefined {
  const generation = isJsonObject(metadata) ? metadata.generation : undefined;
  const observed = isJsonObject(status) ? status.observedGeneration : undefined;
  if (typeof generation !== 'number' || typeof observed !== 'number' || observed >= generation) return undefined;
  return `status is of generation ${observed}, the object is at ${generation}`;
}

function pathsOf(
  rule: NonNullable<FeedbackRules>[number],
  { group, kind }: { group: string; kind: string },
): readonly NamedPath[] | string {
  if (rule.type === 'JSONPaths') return rule.jsonPaths ?? [];
  if (rule.type !== 'WellKnownStatus') return `feedback rule type ${JSON.stringify(rule.type)}: use WellKnownStatus or JSONPaths`;
  return WELL_KNOWN[`${group}/${kind}`] ?? `${kind} has no well-known status: name its values by JSONPaths`;
}

function collect(
  { name, path, version }: NamedPath,
  object: Json,
  servedVersion: string,
  into: { values: Map<string, FeedbackValue>; problems: string[]; reading: Reading },
): void {
  if (version && version !== servedVersion) {
    into.problems.push(`${name}: version ${version} is not ${servedVersion}, in which the manifest is`);
    return;
  }
  try {
    const [value] = valuesAt(parseJsonPath(path), object);
    if (value === undefined || value === null) return;
    const fieldValue = fieldValueOf(value);
    const problem = fieldValue
      ? problemOfSize(name, fieldValue.string ?? '', into)
      : `${path} is ${typeName(value)}, only a text, an integer or a boolean can be read back`;
    if (fieldValue && problem === undefined) into.values.set(name, { name, fieldValue });
    else into.problems.push(`${name.slice(0, WorkStatusBound.name)}: ${problem}`);
  } catch (error) {
    into.problems.push(`${name}: ${textOf(error)}`);
  }
}

/** Says why a value does not fit into a work's status; one that fits takes its room. A value is never cut: half a text would pass for the whole. */
function problemOfSize(name: string, text: string, { values, reading }: { values: Map<string, unknown>; reading: Reading }) {
  if (name.length > WorkStatusBound.name) return `its name has ${name.length} characters, more than ${WorkStatusBound.name}: shorten it`;
  const much = `left out, it has ${text.length} characters`;
  if (text.length > WorkStatusBound.value) return `${much}, more than the ${WorkStatusBound.value} of a value: read a shorter field`;
  if (!values.has(name) && values.size >= WorkStatusBound.values)
    return `left out, a manifest reports ${WorkStatusBound.values} values at most: read fewer`;
  const size = name.length + text.length;
  if (size > reading.room) return `${much}, and a work reports ${WorkStatusBound.allValues} at most in all: read fewer or shorter fields`;
  reading.room -= size;
  return undefined;
}

function fieldValueOf(value: unknown): FeedbackValue['fieldValue'] | undefined {
  if (typeof value === 'string') return { type: 'String', string: value };
  if (typeof value === 'boolean') return { type: 'Boolean', boolean: value };
  if (typeof value === 'bigint') return value === BigInt.asIntN(64, value) ? { type: 'Integer', integer: value } : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) ? { type: 'Integer', integer: value } : undefined;
}

const typeName = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `the ${typeof value} ${JSON.stringify(value)}`;
