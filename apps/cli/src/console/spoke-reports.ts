/** Objects of a spoke, as far as the feedback of ManifestWorks shows them on the hub. */
import { type Condition, findCondition, readJson } from '@flotilla/api';
import type { ObjectReport, ReportedStep, SpokeAnswer } from '@flotilla/api/answers';
import { ManifestWork, WORK_APPLIED } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { nextStep } from '../complain.ts';

/** Objects that an answer has at most, and parts of one. */
const MOST_OBJECTS = 60;
const MOST_PARTS = 40;
/** Longest text of a value or a message. */
const MOST_TEXT = 600;

type Manifest = NonNullable<NonNullable<NonNullable<ManifestWork['status']>['resourceStatus']>['manifests']>[number];

/** Reads what the works of a spoke feed back. */
export async function readReports(client: Client, namespace: string): Promise<Pick<SpokeAnswer, 'reports' | 'reportsWhy'>> {
  try {
    const { items } = await client.list(ManifestWork, { namespace, transform: ({ metadata, status }) => ({ metadata, status }) });
    return { reports: items.flatMap(reportsOf).toSorted(byWeight).slice(0, MOST_OBJECTS), reportsWhy: null };
  } catch (error) {
    return { reports: [], reportsWhy: nextStep(error) };
  }
}

/** Objects that tell of an upgrade stand before all others. */
const WEIGHT: Readonly<Record<string, number>> = { UpgradeConfig: 0, ClusterVersion: 1, ClusterOperator: 2 };
const weight = ({ kind }: ObjectReport): number => WEIGHT[kind] ?? 3;
const byWeight = (a: ObjectReport, b: ObjectReport): number => weight(a) - weight(b) || (a.object < b.object ? -1 : 1);

/** The objects of one work that say something: values, steps, or why they could not be applied. */
function reportsOf({ metadata, status }: ManifestWork): ObjectReport[] {
  const work = `${metadata.namespace}/${metadata.name}`;
  return (status?.resourceStatus?.manifests ?? []).flatMap((manifest) => {
    const report = reportOf(manifest, work);
    return report.values.length > 0 || report.steps.length > 0 || report.applied === 'no' ? [report] : [];
  });
}

function reportOf({ resourceMeta: { kind = '', namespace, name = '' }, conditions, statusFeedback }: Manifest, work: string): ObjectReport {
  const applied = findCondition(conditions, WORK_APPLIED);
  const fields = (statusFeedback?.values ?? []).slice(0, MOST_PARTS).map(({ name: field, fieldValue }) => ({
    name: field,
    value: String(fieldValue.string ?? fieldValue.integer ?? fieldValue.boolean ?? fieldValue.jsonRaw ?? ''),
    steps: stepsOf(fieldValue.jsonRaw),
  }));
  return {
    object: `${kind} ${namespace ? `${namespace}/` : ''}${name}`,
    kind,
    work,
    applied: applied?.status === 'True' ? 'yes' : applied?.status === 'False' ? 'no' : 'unknown',
    says: applied?.status === 'False' ? cut(applied.message) : null,
    at: latest(conditions ?? []),
    values: fields.filter(({ steps }) => steps === undefined).map(({ name: field, value }) => ({ name: field, value: cut(value) })),
    steps: fields.flatMap(({ steps }) => steps ?? []).slice(0, MOST_PARTS),
  };
}

/** Conditions, and steps of an UpgradeConfig, which are conditions with more. */
const Steps = z
  .array(
    z.looseObject({
      type: z.string(),
      status: z.enum(['True', 'False', 'Unknown']),
      message: z.string().default(''),
      waitingFor: z.string().optional(),
      lastTransitionTime: z.string().optional(),
      startTime: z.string().optional(),
      completeTime: z.string().optional(),
    }),
  )
  .min(1);

function stepsOf(json: string | undefined): ReportedStep[] | undefined {
  const read = json === undefined ? undefined : Steps.safeParse(readJson(json)).data;
  return read?.map(({ type, status, message, waitingFor, lastTransitionTime, startTime, completeTime }) => ({
    name: cut(type),
    state: status === 'True' ? 'done' : status === 'False' ? 'not-done' : 'unknown',
    says: cut(waitingFor ?? message),
    at: completeTime ?? startTime ?? lastTransitionTime ?? null,
  }));
}

const cut = (text: string): string => (text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text);

const latest = (conditions: readonly Pick<Condition, 'lastTransitionTime'>[]): string | null =>
  conditions.reduce<string | null>(
    (at, { lastTransitionTime }) => (at === null || lastTransitionTime > at ? lastTransitionTime : at),
    null,
  );
