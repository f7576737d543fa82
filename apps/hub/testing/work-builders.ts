/** Builds a work's reports of its spoke for the tests of this folder. */

import { Annotation, type Condition } from '@flotilla/api';
import { type ManifestStatus, ManifestWork, STATUS_FEEDBACK_SYNCED, WORK_APPLIED, WORK_AVAILABLE } from '@flotilla/api/ocm';
import { PRECACHE_WORK, SpokeName } from '@flotilla/api/ran';
import { workLabels } from '@flotilla/rollout';
import { trimJobWork } from '../src/trims.ts';
import { UPGRADE } from './observation-builders.ts';

/** Creation time of the works of all cases. */
export const CREATED_AT = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(CREATED_AT + seconds * 1000).toISOString();

/** Feedback values by name. */
export type Values = Readonly<Record<string, string | number>>;

/** Mark on an object that this work's attempt created. */
export const OURS: Values = { attempt: 'a1' };

/** One manifest of a status. */
interface ManifestCase {
  readonly applied?: 'True' | 'False';
  readonly appliedMessage?: string;
  /** Seconds after the creation of the work; default 1. */
  readonly appliedAt?: number;
  readonly available?: 'True' | 'False' | 'Unknown';
  readonly availableAt?: number;
  readonly synced?: 'True' | 'False';
  readonly values?: Values;
}

const condition = (type: string, status: Condition['status'], message: string, seconds: number): Condition => ({
  type,
  status,
  reason: 'Test',
  message,
  lastTransitionTime: at(seconds),
});

function manifest(ordinal: number, kind: string, name: string, given: ManifestCase): ManifestStatus {
  const { applied = 'True', appliedMessage = 'Apply manifest complete', available, synced, values } = given;
  return {
    resourceMeta: { ordinal, kind, name },
    conditions: [
      condition(WORK_APPLIED, applied, appliedMessage, given.appliedAt ?? 1),
      ...(available ? [condition(WORK_AVAILABLE, available, 'of availability', given.availableAt ?? 1)] : []),
      ...(synced ? [condition(STATUS_FEEDBACK_SYNCED, synced, 'of feedback', 1)] : []),
    ],
    statusFeedback: {
      values: Object.entries(values ?? {}).map(([key, value]) => ({
        name: key,
        fieldValue: typeof value === 'string' ? { type: 'String', string: value } : { type: 'Integer', integer: value },
      })),
    },
  };
}

/** Builds an existing object that was read. */
export const there = (values: Values): ManifestCase => ({ available: 'True', synced: 'True', values });

/** Parts of a work. */
export interface WorkCase {
  readonly namespace?: ManifestCase;
  readonly job?: ManifestCase;
  readonly binding?: ManifestCase;
  readonly nodes?: ManifestCase;
  readonly spec?: ManifestCase;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: true;
  readonly uid?: string;
  readonly finalizers?: readonly string[];
  /** Default 1, of both. */
  readonly generation?: number;
  readonly observed?: number;
}

/** Builds a work of ours as the caches keep it; a work without manifests has no status. */
export function workOf(given: WorkCase = {}): ManifestWork {
  const parts = [
    ['Namespace', SpokeName.namespace, given.namespace],
    ['Job', SpokeName.job, given.job],
    ['RoleBinding', SpokeName.roleBinding, given.binding],
    ['DaemonSet', SpokeName.nodes, given.nodes],
    ['ConfigMap', SpokeName.specConfigMap, given.spec],
  ] as const;
  const manifests = parts.flatMap(([kind, name, each], ordinal) => (each ? [manifest(ordinal, kind, name, each)] : []));
  const observedGeneration = given.observed ?? 1;
  const conditions = [WORK_APPLIED, WORK_AVAILABLE].map((type) => ({ ...condition(type, 'True', '', 1), observedGeneration }));
  return trimJobWork(
    ManifestWork.schema.parse({
      metadata: {
        name: PRECACHE_WORK,
        namespace: 'spoke',
        uid: given.uid ?? 'work-uid',
        resourceVersion: '7',
        generation: given.generation ?? 1,
        creationTimestamp: at(0),
        labels: workLabels(UPGRADE, 'precache'),
        annotations: { [Annotation.attempt]: 'a1', [Annotation.specDigest]: 'd1', ...given.annotations },
        ...(given.deleting && { deletionTimestamp: at(2) }),
        ...(given.finalizers && { finalizers: given.finalizers }),
      },
      ...(manifests.length > 0 && { status: { conditions, resourceStatus: { manifests } } }),
    }),
  );
}
