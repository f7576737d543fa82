/** The ManifestWorks of a rollout: what they must be, whether they are done, and progress by them (spec/talm 2.11, 2.12). Pure. */
import { Annotation, type Condition, findCondition, foreign, type KubeObject, readJson } from '@flotilla/api';
import {
  type FeedbackValue,
  MAX_WORK_BYTES,
  type ManifestStatus,
  ManifestWork,
  type ManifestWorkReplicaSet,
  STATUS_FEEDBACK_SYNCED,
  WORK_APPLIED,
  WORK_AVAILABLE,
} from '@flotilla/api/ocm';
import { cutInMiddle } from '@flotilla/api/ran';
import { z } from 'zod';
import { type UpgradeIdentity, upgradeLabels } from '../upgrade/identity.ts';
import type { RolloutMode } from '../upgrade/model.ts';
import { quote } from '../values/formats.ts';
import { judgeFreshness, withGenerations } from './work-generations.ts';

/** The work of one template on one cluster. */
export function desiredWork(input: {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly template: ManifestWorkReplicaSet;
  /** `resourceName` of its `desiredWorkName`. */
  readonly name: string;
  /** The spec is that of the template to the letter, so that nobody can tell of which version a value is. */
  readonly talmStrict: boolean;
}): KubeObject {
  const { upgrade, cluster, template, name, talmStrict } = input;
  const spec = template.spec?.manifestWorkTemplate ?? {};
  return {
    apiVersion: ManifestWork.apiVersion,
    kind: ManifestWork.kind,
    metadata: {
      name,
      namespace: cluster,
      labels: upgradeLabels(upgrade),
      annotations: { [Annotation.expectedValues]: template.metadata.annotations?.[Annotation.expectedValues] ?? '' },
    },
    spec: talmStrict ? spec : withGenerations(spec),
  };
}

/** Problem that keeps a template from ever completing, with template, value and fix; undefined when there is none. */
export function findTemplateProblem({ metadata, spec }: ManifestWorkReplicaSet): string | undefined {
  const at = `ManifestWorkReplicaSet ${metadata.namespace ?? ''}/${metadata.name}`;
  const manifests = spec?.manifestWorkTemplate?.workload?.manifests ?? [];
  if (manifests.length === 0) return `${at}: spec.manifestWorkTemplate.workload.manifests is empty; give it at least one manifest`;
  const text = JSON.stringify(manifests);
  const placeholder = UNFILLED.exec(text)?.[1];
  if (placeholder !== undefined)
    return `${at}: image ${quote(placeholder)} is a placeholder; apply the template with your image in its place (envsubst)`;
  const size = Buffer.byteLength(text);
  if (size > MAX_WORK_BYTES)
    return `${at}: spec.manifestWorkTemplate.workload.manifests has ${size} bytes; divide it into templates of at most ${MAX_WORK_BYTES}`;
  const expected = parseExpectedValues(metadata.annotations?.[Annotation.expectedValues]);
  if (expected.problem !== undefined) return `${at}: ${expected.problem}`;
  const beyond = expected.values.find(({ manifestIndex }) => manifestIndex >= manifests.length);
  return (
    beyond &&
    `${at}: annotation ${Annotation.expectedValues} expects ${beyond.name} of manifestIndex ${beyond.manifestIndex}; the template has ${manifests.length} manifests, counted from 0`
  );
}

/** An image of an example that was applied as it is. */
const UNFILLED = /"image":"([^"]{0,200}\$\{[^"]{0,200})"/;

/** Verdict on a work: complete, or the value or condition that it waits for. */
type WorkVerdict =
  | { readonly complete: true }
  | {
      readonly complete: false;
      readonly waitsFor: string;
      /** Set when it can never complete as it is. */
      readonly problem?: string;
      /** When it completes if nothing changes, milliseconds since the epoch. */
      readonly countsAt?: number;
    };

/** Facts that a work is judged by besides its own status. */
interface WorkSight {
  readonly now: number;
  /** Since when the hub has seen the work applied as it is, milliseconds since the epoch. */
  readonly appliedSince: (work: ManifestWork) => number;
}

/** Every stock agent reads all values again within that time: every 10 s, and up to 1.9 times as long (spec/ocm 4.3). */
const READ_INTERVAL_MS = 20_000;

/** Judges a work by its own annotation; a status of an earlier generation counts as none. */
export function judgeWork(work: ManifestWork, { now, appliedSince }: WorkSight): WorkVerdict {
  const expected = parseExpectedValues(work.metadata.annotations?.[Annotation.expectedValues]);
  if (expected.problem !== undefined) {
    const problem = `ManifestWork ${work.metadata.namespace ?? ''}/${work.metadata.name}: ${expected.problem}`;
    return { complete: false, waitsFor: problem, problem };
  }
  for (const type of [WORK_APPLIED, WORK_AVAILABLE]) {
    const unmet = judgeCondition(findCondition(work.status?.conditions, type), type, work.metadata.generation);
    if (unmet !== undefined) return { complete: false, waitsFor: unmet };
  }
  const countsAt = appliedSince(work) + READ_INTERVAL_MS;
  const manifests = work.status?.resourceStatus?.manifests ?? [];
  let undated: ExpectedValue | undefined;
  for (const value of expected.values) {
    const found = judgeValue(value, manifests);
    if (found.waitsFor !== undefined) return { complete: false, waitsFor: found.waitsFor };
    if (found.undated) undated ??= value;
  }
  if (!undated || now >= countsAt) return { complete: true };
  const waitsFor = `${undated.name} of manifest ${undated.manifestIndex} says of no generation; it counts ${READ_INTERVAL_MS / 1000} s after the work was seen applied, when it was read again`;
  return { complete: false, waitsFor, countsAt };
}

function judgeCondition(condition: Condition | undefined, type: string, generation: number | undefined): string | undefined {
  if (!condition) return `${type} is not reported yet`;
  if (condition.status !== 'True') return `${type} is ${condition.status}: ${condition.message}`;
  const { observedGeneration } = condition;
  if (observedGeneration === undefined || generation === undefined || observedGeneration >= generation) return undefined;
  return `${type} is reported for generation ${observedGeneration}, not yet for ${generation}`;
}

/** Wait before a value counts; `undated` when the value is there and nothing tells of which generation it is. */
type ValueVerdict =
  | { readonly waitsFor: string; readonly undated?: undefined }
  | { readonly waitsFor?: undefined; readonly undated: boolean };

function judgeValue({ manifestIndex, name, value }: ExpectedValue, manifests: readonly ManifestStatus[]): ValueVerdict {
  const manifest = manifests.find(({ resourceMeta }) => resourceMeta.ordinal === manifestIndex);
  if (!manifest) return { waitsFor: `manifest ${manifestIndex} is not reported yet` };
  for (const type of [WORK_APPLIED, WORK_AVAILABLE, STATUS_FEEDBACK_SYNCED])
    if (!isTrue(manifest, type)) return { waitsFor: `${type} of manifest ${manifestIndex} is not True` };
  const freshness = judgeFreshness(manifest, name);
  if (freshness.kind === 'stale') return { waitsFor: freshness.message };
  const found = manifest.statusFeedback?.values?.find((feedback) => feedback.name === name);
  if (!found) return { waitsFor: `manifest ${manifestIndex} does not report ${name}` };
  const text = feedbackText(found);
  if (text === value) return { undated: freshness.kind === 'undated' };
  return { waitsFor: `${name} of manifest ${manifestIndex} is ${JSON.stringify(text)}, expected ${JSON.stringify(value)}` };
}

const isTrue = ({ conditions }: ManifestStatus, type: string): boolean => findCondition(conditions, type)?.status === 'True';

/** A feedback value as the text it is compared by. */
function feedbackText({ fieldValue }: FeedbackValue): string | undefined {
  const value = fieldValue.string ?? fieldValue.integer ?? fieldValue.boolean ?? fieldValue.jsonRaw;
  return value === undefined ? undefined : String(value);
}

/** Texts of conditions in a cluster's record. */
const MAX_MESSAGE = 256;

/**
 * The `resourceStatus` of a work that timed out, for `status.clusters[].currentManifestWork.status` (spec/talm 2.11): of a manifest
 * that is ready (feedback is read too) only its first condition, of others the conditions without feedback. As many manifests as fit, the unready ones first.
 * @param maxBytes as JSON; default 4096
 */
export function trimWorkStatus(work: ManifestWork, maxBytes = 4096): { manifests: ManifestStatus[] } {
  const trimmed = (work.status?.resourceStatus?.manifests ?? []).map((manifest) => ({
    manifest: trimManifest(manifest),
    ready: isReady(manifest),
  }));
  let room = maxBytes;
  const kept = new Set<ManifestStatus>();
  for (const { manifest } of [...trimmed.filter(({ ready }) => !ready), ...trimmed.filter(({ ready }) => ready)]) {
    room -= Buffer.byteLength(JSON.stringify(manifest)) + 1;
    if (room < 0) break;
    kept.add(manifest);
  }
  return { manifests: trimmed.map(({ manifest }) => manifest).filter((manifest) => kept.has(manifest)) };
}

const isReady = (manifest: ManifestStatus): boolean =>
  [WORK_APPLIED, WORK_AVAILABLE, STATUS_FEEDBACK_SYNCED].every((type) => isTrue(manifest, type));

function trimManifest(manifest: ManifestStatus): ManifestStatus {
  const conditions = (manifest.conditions ?? []).map((condition) => ({
    ...condition,
    message: cutInMiddle(condition.message, MAX_MESSAGE),
  }));
  const { resourceMeta, statusFeedback } = manifest;
  // Present even when it is empty, as the reference serialises it.
  return isReady(manifest)
    ? { resourceMeta, conditions: conditions.slice(0, 1), statusFeedback: statusFeedback ?? {} }
    : { resourceMeta, conditions, statusFeedback: {} };
}

/** Drops what no step and no verdict reads: manifests can be half a megabyte. */
export function trimWork(work: ManifestWork): ManifestWork {
  const { apiVersion, kind, metadata, status } = work;
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, annotations: pick(metadata.annotations, Annotation.expectedValues) },
    ...(status && { status: { conditions: status.conditions, resourceStatus: { manifests: status.resourceStatus?.manifests } } }),
  };
}

const pick = (annotations: Readonly<Record<string, string>> | undefined, key: string): Record<string, string> | undefined => {
  const value = annotations?.[key];
  return value === undefined ? undefined : { [key]: value };
};

/** One value that a manifest must report. */
interface ExpectedValue {
  /** Index of the manifest in the work. */
  readonly manifestIndex: number;
  /** Name of the feedback value. */
  readonly name: string;
  /** Its value as a text. */
  readonly value: string;
}

/** The list, or what is wrong with the annotation. */
type ExpectedValues =
  | { readonly values: readonly ExpectedValue[]; readonly problem?: undefined }
  | { readonly problem: string; readonly values?: undefined };

const List = foreign(
  z
    .array(
      z.object({
        // A list that is written in Go may leave out values that are 0 or empty.
        manifestIndex: z.int().min(0).default(0),
        name: z.string().min(1),
        // The reference wants a text; a number or a truth value can only mean its text.
        value: z.union([z.string(), z.number(), z.boolean()]).transform(String).default(''),
      }),
    )
    .nullable()
    .transform((list) => list ?? []),
);

const SHAPE =
  'expected a JSON list of {"manifestIndex": number, "name": text, "value": text}, of which the index and the value may be left out';

/** Reads the annotation; absent and empty mean that nothing is expected. The problem names field, value and fix. */
export function parseExpectedValues(text: string | undefined): ExpectedValues {
  if (text === undefined || text.trim() === '') return { values: [] };
  const at = `annotation ${Annotation.expectedValues}`;
  const json = readJson(text);
  if (json === undefined) return { problem: `${at} ${quote(text, 120)} is no JSON: ${SHAPE}` };
  const list = List.safeParse(json);
  if (list.success) return { values: list.data };
  const [issue] = list.error.issues;
  const where =
    issue && issue.path.length > 0
      ? ` at ${issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')}`
      : '';
  return { problem: `${at} ${quote(text, 120)} is malformed${where}: ${SHAPE}` };
}

/**
 * The templates of a running rollout, in order.
 * @param work the ManifestWork of a template on a cluster, if this upgrade's is there and stays
 */
export function manifestWorkMode(
  templates: readonly string[],
  work: (cluster: string, template: string) => ManifestWork | undefined,
  sight: WorkSight,
): RolloutMode {
  const at = (cluster: string, index: number): ManifestWork | undefined => work(cluster, templates[index] ?? '');
  const judge = (cluster: string, index: number): WorkVerdict | undefined => {
    const found = at(cluster, index);
    return found && judgeWork(found, sight);
  };
  return {
    kind: 'manifestWork',
    count: templates.length,
    name: (index) => templates[index] ?? '',
    standing: (cluster, index) => (judge(cluster, index)?.complete ? 'done' : 'pending'),
    doneAt: (cluster, index) => {
      const verdict = judge(cluster, index);
      return verdict?.complete === false ? verdict.countsAt : undefined;
    },
    soakSeconds: () => 0,
    detail: (cluster, index) => {
      const found = at(cluster, index);
      return { currentManifestWork: { name: templates[index] ?? '', ...(found && { status: trimWorkStatus(found) }) } };
    },
  };
}
