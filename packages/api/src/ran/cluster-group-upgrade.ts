import { z } from 'zod';
import { labelKey, labelValue, list, map, objectName, text } from '../bounded.ts';
import { Condition } from '../conditions.ts';
import { KubeObject, LabelSelector, ObjectMeta, resource } from '../kubernetes.ts';
import { BackupState } from './backup.ts';
import { PrecachingSpec } from './pre-caching-config.ts';
import { PinWay, PrecacheNodes, PrecacheProgress, PrecacheState } from './precache.ts';

/** Bound of an upgrade's clusters; an object has no room for more names. */
const CLUSTERS = 20_000;
/** Bound of an object's annotations together: 256 KiB. */
const ANNOTATIONS_LENGTH = 262_144;

/** Edits of ManagedCluster labels and annotations at one moment of the upgrade. */
const ClusterActions = {
  addClusterLabels: map(labelValue(), 1_000).optional().describe('Labels to add to every cluster of the upgrade.'),
  deleteClusterLabels: map(labelValue(), 1_000)
    .optional()
    .describe('Deprecated, use removeClusterLabels. Labels to delete; only the keys are used.'),
  removeClusterLabels: list(labelKey(), 1_000).optional().describe('Keys of labels to remove.'),
  addClusterAnnotations: map(text(ANNOTATIONS_LENGTH), 1_000).optional().describe('Annotations to add to every cluster of the upgrade.'),
  removeClusterAnnotations: list(labelKey(), 1_000).optional().describe('Keys of annotations to remove.'),
};

/** Upgrade that a user requests (spec/talm 1.1), within limits (see `limitsOf`) above any fleet. */
export const ClusterGroupUpgradeSpec = z.object({
  backup: z.boolean().default(false).describe('Deprecated. Back up each cluster before it is remediated.'),
  preCaching: z.boolean().default(false).describe('Pull the images of the upgrade into each cluster first, whether or not enable is set.'),
  preCachingConfigRef: z
    .object({
      name: objectName().optional().describe('Name of the PreCachingConfig; empty for none.'),
      namespace: objectName().optional().describe('Namespace of the PreCachingConfig; empty for that of the ClusterGroupUpgrade.'),
    })
    .optional()
    .describe('PreCachingConfig that overrides what the policies say.'),
  enable: z.boolean().default(true).describe('Start the remediation. Pre-caching does not wait for it.'),
  clusters: list(objectName(), CLUSTERS).optional().describe('Names of ManagedClusters, in the order they are upgraded.'),
  clusterSelector: list(text(512), 5_000)
    .optional()
    .describe('Deprecated, use clusterLabelSelectors. key=value or key, each selecting the clusters with that label.'),
  clusterLabelSelectors: list(LabelSelector, 256)
    .optional()
    .describe('Label selectors over ManagedClusters; a cluster that matches any is selected.'),
  remediationStrategy: z
    .object({
      canaries: list(objectName(), CLUSTERS).optional().describe('Clusters upgraded first, each in a batch of its own.'),
      maxConcurrency: z.int().describe('Clusters upgraded at the same time; 0 or less means all.'),
      timeout: z
        .int()
        .default(240)
        .describe('Minutes until the upgrade times out; 0 ends it at once.')
        .meta({
          minimum: 0,
          'x-kubernetes-validations': [{ rule: 'self >= 0', message: 'must be 0 or more minutes; correct it' }],
        }),
    })
    .describe('How the clusters are divided into batches, and how long it may take.'),
  managedPolicies: list(objectName(), 2_000).optional().describe('Names of parent policies, in the order they are remediated.'),
  manifestWorkTemplates: list(objectName(), 2_000)
    .optional()
    .describe('Names of ManifestWorkReplicaSets in the namespace of the ClusterGroupUpgrade, rolled out in order instead of policies.'),
  blockingCRs: list(
    z.object({
      name: objectName().optional().describe('Name of the ClusterGroupUpgrade to wait for.'),
      namespace: objectName().optional().describe('Namespace of the ClusterGroupUpgrade to wait for.'),
    }),
    1_000,
  )
    .optional()
    .describe('ClusterGroupUpgrades that must complete first.'),
  actions: z
    .object({
      beforeEnable: z.object(ClusterActions).optional().describe('Edits of ManagedClusters when the remediation starts.'),
      afterCompletion: z
        .object({
          ...ClusterActions,
          deleteObjects: z.boolean().default(true).optional().describe('Delete what the upgrade created on the hub when it completes.'),
        })
        .optional()
        .describe('Edits of each ManagedCluster when it completes.'),
    })
    .optional()
    .describe('Edits of ManagedClusters before and after the remediation.'),
  batchTimeoutAction: text(64)
    .optional()
    .describe('What to do when a batch times out: Continue (default) or Abort.')
    .meta({ enum: ['', 'Continue', 'Abort'] }),
});
export type ClusterGroupUpgradeSpec = z.output<typeof ClusterGroupUpgradeSpec>;

const CurrentItem = z.object({
  name: z.string().describe('Name.'),
  status: z.unknown().optional().describe('Its status when the cluster was recorded.'),
});

/**
 * Marks a map with a single writer. Otherwise the server keeps an entry of managedFields for every cluster, which costs as much room and more time
 * than the map. A merge patch still changes single keys.
 */
const writtenWhole = { 'x-kubernetes-map-type': 'atomic' };

const texts = (says: string) => z.record(z.string(), z.string()).optional().describe(says).meta(writtenWhole);
const moment = (says: string) => z.string().meta({ format: 'date-time' }).optional().describe(says);

/** Progress of one cluster of the current batch. */
export const ClusterProgress = z.object({
  state: z.string().optional().describe('NotStarted, InProgress or Completed.'),
  policyIndex: z.int().optional().describe('Index of its current policy.'),
  manifestWorkIndex: z.int().optional().describe('Index of its current ManifestWork.'),
  firstCompliantAt: moment('When the current policy was first compliant (soak).'),
});

/** Clusters whose job is one of a kind. */
export const CacheProof = z.object({
  number: z.int().describe('Number of the job: the greatest of its upgrade when it was asked for.'),
  kind: z.enum(['prove', 'pull']).describe('prove: compares what is there with what was pulled; pull: pulls again what a proof missed.'),
  at: z.string().meta({ format: 'date-time' }).describe('When it was asked for: a proof is as old as that.'),
  clusters: z.array(z.string()).describe('Its clusters.'),
});
export type CacheProof = z.output<typeof CacheProof>;

/** Parts of a large status by numbers of clusters instead of their names; see packed-status.ts. */
const PackedStatus = z.object({
  others: z.array(z.string()).optional().describe('Clusters that the rest of the status names nowhere.'),
  plan: z.array(z.string()).optional().describe('remediationPlan, each batch as ranges of numbers.'),
  precaching: texts('precaching.status: numbers of the clusters in each state.'),
  backup: texts('backup.status: numbers of the clusters in each state.'),
  progress: texts('currentBatchRemediationProgress: numbers of the clusters by entry, as JSON without firstCompliantAt.'),
  proofs: texts('precaching.proofs: numbers of the clusters by entry, as JSON without them.'),
  soaks: texts('firstCompliantAt: numbers of the clusters by time.'),
});
export type PackedStatus = z.output<typeof PackedStatus>;

/** Report of the hub (spec/talm 1.2); descriptions mark additions to the reference's fields. */
export const ClusterGroupUpgradeStatus = z.object({
  observedGeneration: z.int().optional().describe('Flotilla: generation of the spec that the rest of the status is about.'),
  effect: z
    .object({
      generation: z.int().describe('Last generation of the spec all of which counts.'),
      fields: texts('Digest of each field of the spec that the rollout goes by; absent where no hub has noted them.'),
    })
    .optional()
    .describe(
      'Flotilla: the spec that the rollout goes by; what was edited since is named by condition EditsIgnored. Absent before the start.',
    ),
  lastHandledRetryAt: z
    .string()
    .optional()
    .describe('Flotilla: value of the annotation flotilla.io/retry-at by which failed clusters were last tried again.'),
  conditions: z.array(Condition).optional().describe('The last element is the current state: the order is part of the contract.'),
  computedMaxConcurrency: z.int().optional().describe('Effective size of a batch.'),
  remediationPlan: z.array(z.array(z.string())).optional().describe('The batches, in order.'),
  batchesAtStart: z
    .int()
    .optional()
    .describe(
      'Flotilla: batches of the plan that the rollout started with, once others came behind them by a retry or by membership; with waves those of canaries.',
    ),
  managedPoliciesNs: texts('Namespace of each managed policy.'),
  managedPoliciesForUpgrade: z
    .array(z.object({ name: z.string().describe('Policy.'), namespace: z.string().describe('Its namespace.') }))
    .optional()
    .describe('Policies that will be enforced, in order.'),
  managedPoliciesCompliantBeforeUpgrade: z.array(z.string()).optional().describe('Policies every cluster already complies with.'),
  policyReach: z
    .array(
      z.object({
        clusters: z.array(z.string()).describe('Clusters that are alike.'),
        meant: z.array(z.int()).describe('Policies that were seen to be placed on them.'),
        notMeant: z.array(z.int()).describe('Policies that were seen not to be placed on them. Of the others nobody could say.'),
      }),
    )
    .optional()
    .describe(
      'Flotilla: clusters of the plan on which not all of managedPoliciesForUpgrade are placed, by the number of the policy from 0. What was placed and is gone later is waited for.',
    ),
  managedPoliciesContent: texts('Subscriptions found in each policy, as JSON.'),
  manifestWorkTemplates: z
    .array(z.string())
    .optional()
    .describe('Flotilla: the templates that are rolled out, in order; edits of the spec change nothing once the rollout has started.'),
  manifestWorkVersions: z
    .array(z.string())
    .optional()
    .describe('Flotilla: digest of each of these templates as the rollout began with it; an edited one goes to no further cluster.'),
  safeResourceNames: texts('Actual name of each object created on the hub, by namespace/desired name.'),
  placements: z.array(z.string()).optional().describe('Names of the Placements of this upgrade, sorted.'),
  placementBindings: z.array(z.string()).optional().describe('Names of the PlacementBindings of this upgrade, sorted.'),
  copiedPolicies: z.array(z.string()).optional().describe('Deprecated, never written.'),
  clusters: z
    .array(
      z.object({
        name: z.string().describe('Cluster.'),
        state: z.string().describe('complete, timedout or failed.'),
        currentPolicy: CurrentItem.optional().describe('Policy it was at.'),
        currentManifestWork: CurrentItem.optional().describe('ManifestWork it was at.'),
        message: z.string().optional().describe('Flotilla: what kept it from getting there, in a sentence.'),
      }),
    )
    .optional()
    .describe('Clusters whose part in the upgrade has ended.'),
  status: z
    .object({
      startedAt: moment('When the remediation started.'),
      completedAt: moment('When the upgrade ended.'),
      currentBatch: z.int().optional().describe('Batch being remediated, from 1.'),
      currentBatchStartedAt: moment('When that batch started.'),
      pausedAt: moment("When the rollout's clock was stopped by a pause that lasts."),
      pausedSeconds: z
        .number()
        .optional()
        .describe('Seconds of all pauses that have ended, since the rollout started; those that count as closed time are left out.'),
      currentBatchPausedSeconds: z.number().optional().describe('Of these, seconds since that batch started.'),
      windows: z
        .array(
          z.object({
            since: moment('Since when they were in force.'),
            annotations: texts('These annotations; absent where they could not be read, so that nothing could begin.'),
          }),
        )
        .optional()
        .describe(
          'Flotilla: windows of this rollout, one after the other: an edit of the annotations takes none of the time that is past.',
        ),
      currentBatchRemediationProgress: z
        .record(z.string(), ClusterProgress)
        .optional()
        .describe('Progress of each cluster of the batch.')
        .meta(writtenWhole),
    })
    .default({})
    .describe('Times and progress of the remediation; always an object.'),
  messages: texts('Flotilla: what keeps a cluster from getting on in the rollout, in a sentence; absent when there is nothing to say.'),
  waits: z
    .array(
      z.object({
        cause: z.string().optional().describe('The same in a word, as `flotilla why` names it.'),
        for: z.string().describe('What is waited for.'),
        clusters: z.int().describe('How many clusters wait for it.'),
        names: z.array(z.string()).describe('The first of them, at most 5.'),
        since: moment('Since when the first of them has waited, where that is known.'),
      }),
    )
    .optional()
    .describe(
      'Flotilla: what clusters wait for until the end, at most 20 things, the worst first: failures, silent clusters, what is blocked, what goes on.',
    ),
  summary: z
    .object({
      cached: z.string().optional().describe('Clusters whose images are pulled, of those that pre-cache, as in 3/10.'),
      batch: z.string().optional().describe('The current batch, 0 before the first, of all batches, as in 2/5.'),
      failed: z.int().optional().describe('Clusters that failed or timed out.'),
      eta: moment(
        'End of the rollout by the mean of the batches that have ended, or its time-out where that is earlier; absent in the first batch and between batches.',
      ),
    })
    .optional()
    .describe('Flotilla: the upgrade in four values, which `kubectl get -o wide` shows.'),
  clusterUids: z
    .string()
    .optional()
    .describe(
      'Flotilla: which ManagedClusters the rest of the status is about: digests of their uids in the order of all names. What is said of one does not count for another that is imported under its name. Absent: no hub has noted them.',
    ),
  packed: PackedStatus.optional().describe(
    'Flotilla: what a status of thousands of clusters has no room to say by name, by numbers: places among all clusters that it names, sorted.',
  ),
  precaching: z
    .object({
      spec: PrecachingSpec.optional().describe('The images to pre-cache.'),
      status: z.record(z.string(), PrecacheState).optional().describe('Pre-caching state of each cluster.').meta(writtenWhole),
      clusters: z.array(z.string()).optional().describe('Deprecated, always empty.'),
      retries: z
        .record(z.string(), z.int())
        .optional()
        .describe('Flotilla: how often a cluster that failed was tried again on demand; absent for those that were not.')
        .meta(writtenWhole),
      proofs: z
        .array(CacheProof)
        .optional()
        .describe('Flotilla: jobs that prove, or restore, what was pulled, of clusters whose part is about to begin.'),
      pins: PinWay.optional().describe(
        'Flotilla: what is pulled was pinned on the nodes, by their runtime or by PinnedImageSets; the pins are removed when the upgrade ends. Absent: nothing was pinned.',
      ),
      messages: texts('Flotilla: why a cluster waits or failed, in a sentence; absent when there is nothing to say.'),
      progress: z
        .record(z.string(), PrecacheProgress)
        .optional()
        .describe('Flotilla: progress of clusters that are pulling now, at most 1000 of them.')
        .meta(writtenWhole),
      summary: z
        .object({
          imagesDone: z.int().describe('Images present, over all clusters that reported.'),
          imagesTotal: z.int().describe('Images needed, over all clusters that reported.'),
          bytesDone: z.int().describe('Bytes present.'),
          bytesTotal: z.int().describe('Bytes needed.'),
        })
        .optional()
        .describe('Flotilla: progress summed over all clusters that reported.'),
      nodes: PrecacheNodes.optional().describe(
        'Flotilla: nodes of all clusters with more than one, summed; absent before any has reported.',
      ),
    })
    .optional()
    .describe('Pre-caching.'),
  backup: z
    .object({
      startedAt: moment('When the backup started.'),
      status: z.record(z.string(), BackupState).optional().describe('Backup state of each cluster.').meta(writtenWhole),
      clusters: z.array(z.string()).optional().describe('Deprecated, always empty.'),
      messages: texts('Flotilla: why a cluster waits or failed, in a sentence; absent when there is nothing to say.'),
    })
    .optional()
    .describe('Backup.'),
});
export type ClusterGroupUpgradeStatus = z.output<typeof ClusterGroupUpgradeStatus>;

const Schema = KubeObject.extend({
  metadata: ObjectMeta,
  spec: ClusterGroupUpgradeSpec.optional(),
  status: ClusterGroupUpgradeStatus.optional(),
});
/** An upgrade of a group of clusters. */
export type ClusterGroupUpgrade = z.output<typeof Schema>;
export const ClusterGroupUpgrade = resource('ran.openshift.io/v1alpha1', 'ClusterGroupUpgrade', 'clustergroupupgrades', true, Schema);
