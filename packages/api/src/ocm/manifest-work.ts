import { z } from 'zod';
import { readable, readableList } from '../foreign.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { list, object, text } from '../schema-parts.ts';
import { spokeConditions, spokeStatus } from './spoke-status.ts';

/** Identifies one manifest of a work on the spoke. */
const ResourceIdentifier = z.looseObject({
  group: z.string().optional(),
  resource: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
});

/** Strategies of keeping a manifest's object. */
export const UpdateStrategyType = ['Update', 'CreateOnly', 'ServerSideApply', 'ReadOnly'] as const;

/** Options of applying one manifest and of its feedback. */
export const ManifestConfig = z.looseObject({
  resourceIdentifier: ResourceIdentifier,
  feedbackRules: z
    .array(
      z.looseObject({
        /** WellKnownStatus or JSONPaths. */
        type: z.string(),
        jsonPaths: z.array(z.looseObject({ name: z.string(), path: z.string(), version: z.string().optional() })).nullish(),
      }),
    )
    .nullish(),
  updateStrategy: z
    .looseObject({
      /** Update (default), CreateOnly, ServerSideApply or ReadOnly. */
      type: z.string().optional(),
      serverSideApply: z
        .looseObject({
          force: z.boolean().optional(),
          fieldManager: z.string().optional(),
          /** Conditions are OnSpokePresent (default) and OnSpokeChange. */
          ignoreFields: z.array(z.looseObject({ condition: z.string().optional(), jsonPaths: z.array(z.string()).nullish() })).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  /** Time of feedback: Poll (default), or Watch, at each change of the object. */
  feedbackScrapeType: z.string().nullish(),
});
export type ManifestConfig = z.output<typeof ManifestConfig>;

/** Objects to keep on a spoke, with options (spec/ocm 4.1). */
export const ManifestWorkSpec = z.looseObject({
  workload: z.looseObject({ manifests: z.array(z.looseObject({})).nullish() }).optional(),
  deleteOption: z
    .looseObject({
      /** Foreground (default), Orphan or SelectivelyOrphan. */
      propagationPolicy: z.string().optional(),
      selectivelyOrphans: z.looseObject({ orphaningRules: z.array(ResourceIdentifier).nullish() }).nullish(),
      /** Time in seconds. */
      ttlSecondsAfterFinished: z.union([z.number(), z.bigint()]).nullish(),
    })
    .nullish(),
  manifestConfigs: z.array(ManifestConfig).nullish(),
  executor: z.looseObject({}).nullish(),
});
export type ManifestWorkSpec = z.output<typeof ManifestWorkSpec>;

/** Most of what a work's status holds on hubs with our definitions; counts of entries, else of characters. */
export const WorkStatusBound = {
  manifests: 2_000,
  /** Feedback values of one manifest. */
  values: 64,
  /** Name of an object, or of a value. */
  name: 253,
  /** Namespace, kind, version or plural of an object. */
  word: 63,
  /** Text of one value. */
  value: 65_536,
  /** Names and texts of all values; their bound in the definition is this and that of messages, so that the deletion fits beside them. */
  allValues: 131_072,
  allMessages: 131_072,
} as const;
/** Values that are read of a manifest: other hubs store more. */
const MAX_VALUES = 256;

/** Feedback value of a manifest, in the field that `type` names. */
export const FeedbackValue = z.looseObject({
  name: z.string(),
  fieldValue: z.looseObject({
    /** Integer, String, Boolean or JsonRaw. */
    type: z.string(),
    /** int64. */
    integer: z.union([z.number(), z.bigint()]).optional(),
    string: z.string().optional(),
    boolean: z.boolean().optional(),
    jsonRaw: z.string().optional(),
  }),
});
export type FeedbackValue = z.output<typeof FeedbackValue>;

/** Status of one manifest; `resourceMeta.ordinal` is its index in the spec (spec/ocm 4.2). */
export const ManifestStatus = z.looseObject({
  resourceMeta: z.looseObject({
    ordinal: z.number(),
    group: z.string().optional(),
    version: z.string().optional(),
    kind: z.string().optional(),
    resource: z.string().optional(),
    name: z.string().optional(),
    namespace: z.string().optional(),
  }),
  conditions: spokeConditions,
  statusFeedback: spokeStatus({ values: readableList(FeedbackValue, MAX_VALUES) }),
});
export type ManifestStatus = z.output<typeof ManifestStatus>;

const Schema = KubeObject.extend({
  spec: ManifestWorkSpec.optional(),
  status: spokeStatus({
    conditions: spokeConditions,
    resourceStatus: spokeStatus({ manifests: readableList(ManifestStatus, WorkStatusBound.manifests) }),
  }),
});
/** Objects that a spoke's agent applies and keeps unchanged, in the hub namespace of the spoke (spec/ocm 4.1, 4.2). */
export type ManifestWork = z.output<typeof Schema>;
export const ManifestWork = resource('work.open-cluster-management.io/v1', 'ManifestWork', 'manifestworks', true, Schema);

/** Condition types of a work and of each of its manifests. `Available` means that it exists, not that it is healthy. */
export const WORK_APPLIED = 'Applied';
export const WORK_AVAILABLE = 'Available';

const ReplicaSetSchema = KubeObject.extend({
  spec: z
    .looseObject({
      manifestWorkTemplate: ManifestWorkSpec.optional(),
      placementRefs: z.array(z.looseObject({ name: z.string() })).nullish(),
    })
    .optional(),
});
/** A template of ManifestWorks; a ClusterGroupUpgrade reads only `manifestWorkTemplate` (spec/ocm 4.4, 4.5). */
export type ManifestWorkReplicaSet = z.output<typeof ReplicaSetSchema>;
export const ManifestWorkReplicaSet = resource(
  'work.open-cluster-management.io/v1alpha1',
  'ManifestWorkReplicaSet',
  'manifestworkreplicasets',
  true,
  ReplicaSetSchema,
);

/** Condition type of a manifest with read feedback. */
export const STATUS_FEEDBACK_SYNCED = 'StatusFeedbackSynced';

/** Finalizer of the work agent: it keeps a deleted work until its objects are gone (spec/ocm 4.1). */
export const WORK_FINALIZER = 'cluster.open-cluster-management.io/manifest-work-cleanup';

/** Largest work, in bytes. */
export const MAX_WORK_BYTES = 500 * 1024;

/** An object that a work holds on the spoke. Without a uid it is not known yet whether the work made it. */
const AppliedResource = z.looseObject({
  group: z.string().optional(),
  version: z.string(),
  resource: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
});
export type AppliedResource = z.output<typeof AppliedResource>;

/** Most entries that are read: as many as a work may have, twice, because removed ones may still be on their way. */
const MOST_APPLIED = 4_000;

const AppliedSchema = KubeObject.extend({
  spec: z.looseObject({ hubHash: z.string(), manifestWorkName: z.string(), agentID: z.string().optional() }),
  status: readable(
    z.looseObject({ appliedResources: readableList(AppliedResource, MOST_APPLIED), evictionStartTime: readable(z.string()) }),
  ),
});
/** Record of a work on the spoke, which outlives work and agent (spec/ocm 4.1). */
export type AppliedManifestWork = z.output<typeof AppliedSchema>;
export const AppliedManifestWork = resource(
  'work.open-cluster-management.io/v1',
  'AppliedManifestWork',
  'appliedmanifestworks',
  false,
  AppliedSchema,
);

const appliedResource = object({ group: text, version: text, resource: text, name: text, namespace: text, uid: text }, [
  'name',
  'resource',
  'version',
]);

/** `spec` and `status` of AppliedManifestWork (spec/ocm 4.1). */
export const appliedManifestWorkSchema = {
  spec: object({ hubHash: text, manifestWorkName: text, agentID: text }, ['hubHash', 'manifestWorkName']),
  status: object({ appliedResources: list(appliedResource), evictionStartTime: { ...text, format: 'date-time' } }),
};
