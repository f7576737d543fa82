/** Trims objects before they are cached: a status can be as large as the server allows, and a hub has thousands. Pure. */
import { Annotation, findCondition, foreign, isJsonObject, type KubeObject, Label, managedFieldsOf, type ObjectMeta } from '@flotilla/api';
import { JobStatus, type Lease } from '@flotilla/api/core';
import {
  ClusterClaim,
  claimOf,
  type ManagedCluster,
  type ManagedClusterAction,
  type ManagedClusterView,
  type ManifestStatus,
  type ManifestWork,
  type ManifestWorkReplicaSet,
  type PlacementDecision,
  WORK_APPLIED,
} from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, cutInMiddle, unpackStatus } from '@flotilla/api/ran';
import { z } from 'zod';

/** Unpacks an upgrade's status, the form in which all readers expect it. */
export const withWholeStatus = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade =>
  upgrade.status?.packed ? { ...upgrade, status: unpackStatus(upgrade.status) } : upgrade;

const CLAIMS = Object.values(ClusterClaim);
/** Longest value of a claim that is kept, in characters: four times the bound of its own CRD. */
const MAX_CLAIM = 4096;

/** Drops reports of a cluster that no decision reads. */
export function trimReport({ apiVersion, kind, metadata, spec, status }: ManagedCluster): ManagedCluster {
  const clusterClaims = CLAIMS.flatMap((name) => {
    const value = claimOf({ status }, name);
    return value === undefined || value.length > MAX_CLAIM ? [] : [{ name, value }];
  });
  return { apiVersion, kind, metadata, spec, ...(status && { status: { conditions: status.conditions, clusterClaims } }) };
}

/** Drops the status of a template, which no step reads. */
export const trimTemplate = ({ apiVersion, kind, metadata, spec }: ManifestWorkReplicaSet): ManifestWorkReplicaSet => ({
  apiVersion,
  kind,
  metadata,
  spec,
});

/** Leaves the names of the clusters: a fleet may have decisions of many more Placements than those of upgrades. */
export function trimDecision({ apiVersion, kind, metadata, status }: PlacementDecision): PlacementDecision {
  const { namespace, name, uid, resourceVersion, labels } = metadata;
  const decisions = status?.decisions?.map(({ clusterName }) => ({ clusterName }));
  const kept = { [Label.placement]: labels?.[Label.placement] ?? '' };
  return {
    apiVersion,
    kind,
    metadata: { namespace, name, uid, resourceVersion, labels: kept },
    ...(decisions && { status: { decisions } }),
  };
}

/** Longest text of a spoke that is kept, in characters: the longest is a puller's report with its ten failures. */
export const MAX_TEXT = 16_384;
/** Longest value of an annotation that the hub writes. */
const MAX_MARK = 256;

/** Kubernetes allows no longer names. */
const Name = z.string().max(253);

/** Fields of a viewed object that decide something. */
export const ViewedObject = z.object({
  kind: Name,
  metadata: z.object({
    name: Name,
    namespace: Name.optional(),
    deletionTimestamp: Name.optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  status: z.unknown().optional(),
});

/** The same fields, all optional, for answers without an identity. */
const AnyObject = foreign(ViewedObject.partial().extend({ metadata: ViewedObject.shape.metadata.partial().optional() }));

/** Annotations that tell an object's owner, spec and progress. */
const KEPT_ANNOTATIONS = [Annotation.upgradeUid, Annotation.specDigest, Annotation.progress];

/** Drops fields of a job's view that no step reads. */
export function trimView(view: ManagedClusterView): ManagedClusterView {
  const parsed = AnyObject.safeParse(view.status?.result);
  if (!parsed.success) return { ...view, ...(view.status && { status: { conditions: view.status.conditions, result: undefined } }) };
  const { kind, metadata, status } = parsed.data;
  const kept = KEPT_ANNOTATIONS.flatMap((name) => {
    const value = metadata?.annotations?.[name];
    return value === undefined ? [] : [[name, value.slice(0, name === Annotation.progress ? MAX_TEXT : MAX_MARK)]];
  });
  const trimmed = {
    kind,
    metadata: { ...metadata, annotations: kept.length > 0 ? Object.fromEntries(kept) : undefined },
    status: kind === 'Job' || kind === undefined ? trimJobStatus(status) : undefined,
  };
  return { ...view, status: { conditions: view.status?.conditions, result: trimmed } };
}

/** Keeps the fields of a verdict; a malformed status stays malformed. */
function trimJobStatus(status: unknown): unknown {
  const parsed = JobStatus.safeParse(status ?? {});
  if (!parsed.success) return 'malformed';
  const { active, ready, succeeded, conditions } = parsed.data;
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  return {
    active,
    ready,
    succeeded,
    ...(failed && {
      conditions: [{ ...failed, reason: failed.reason?.slice(0, 256), message: failed.message && cutInMiddle(failed.message) }],
    }),
  };
}

/** Drops templates and echoes of an action, which no step reads. */
export function trimAction(action: ManagedClusterAction): ManagedClusterAction {
  return {
    ...action,
    spec: { actionType: action.spec?.actionType },
    ...(action.status && { status: { conditions: action.status.conditions, result: undefined } }),
  };
}

const MAX_MANIFESTS = 32;

/** Drops manifests of a job's work and long texts of its spoke, which no step reads. */
export function trimJobWork({ apiVersion, kind, metadata, status }: ManifestWork): ManifestWork {
  const manifests = status?.resourceStatus?.manifests?.slice(0, MAX_MANIFESTS).map(trimManifest);
  return { apiVersion, kind, metadata, ...(status && { status: { conditions: status.conditions, resourceStatus: { manifests } } }) };
}

function trimManifest({ resourceMeta, conditions, statusFeedback }: ManifestStatus): ManifestStatus {
  const isReadBack = (statusFeedback?.values ?? []).length > 0 || findCondition(conditions, WORK_APPLIED)?.status === 'False';
  // Applied manifests without feedback decide nothing.
  if (!isReadBack && !['Namespace', 'Job'].includes(resourceMeta.kind ?? '')) return { resourceMeta, conditions: [] };
  return {
    resourceMeta,
    conditions,
    statusFeedback: {
      values: statusFeedback?.values?.map(({ name, fieldValue: { type, integer, string } }) => ({
        name,
        fieldValue: {
          type,
          ...(integer !== undefined && { integer }),
          ...(string !== undefined && { string: string.slice(0, MAX_TEXT) }),
        },
      })),
    },
  };
}

/** Field of a trimmed object that equals the wanted one. */
const AS_WANTED = 'asWanted';

/** True when the cached object of a cluster's access exists and equals the wanted one. */
export const isInOrder = (cached: KubeObject | undefined): boolean => cached?.[AS_WANTED] === true;

/** Leaves of an object of a cluster's access whether it is right. */
export function trimAccess({ metadata }: KubeObject, isRight: boolean): KubeObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, labels } = metadata;
  const label = labels?.[Label.clusterName];
  return {
    metadata: { name, namespace, uid, resourceVersion, labels: label === undefined ? {} : { [Label.clusterName]: label } },
    [AS_WANTED]: isRight && deletionTimestamp === undefined,
  };
}

/** Keeps only the time of the last renewal, by the clock of the hub's server: the agent's clock may be minutes off. */
export function trimLease({ metadata, spec }: Lease): Lease {
  const { name, namespace, uid, resourceVersion } = metadata;
  const renewTime = spec?.renewTime ? (takenAt(metadata) ?? spec.renewTime) : undefined;
  return { metadata: { name, namespace, uid, resourceVersion }, spec: { renewTime } };
}

/** Servers cut times to the second. */
const SECOND_MS = 1000;

/** Latest possible time of the write of `spec.renewTime`, RFC 3339. */
function takenAt(metadata: ObjectMeta): string | undefined {
  const wroteTime = (spec: unknown): boolean => isJsonObject(spec) && spec['f:renewTime'] !== undefined;
  const times = managedFieldsOf(metadata)
    .filter(({ fieldsV1 }) => wroteTime(fieldsV1?.['f:spec']))
    .map(({ time }) => Date.parse(time ?? ''))
    .filter((time) => !Number.isNaN(time));
  return times.length > 0 ? new Date(Math.max(...times) + SECOND_MS).toISOString() : undefined;
}
