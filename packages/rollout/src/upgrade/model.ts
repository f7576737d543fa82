/** The words the files of this folder share. What is decided is decided in the files named after it. */
import type { KubeObject, Ref, Resource } from '@flotilla/api';
import type { ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus, ConditionReason } from '@flotilla/api/ran';
import { z } from 'zod';
import type { Wait } from '../waits/wait.ts';
import type { Sightings } from './first-seen.ts';

/** Edits of a ManagedCluster's labels and annotations, as `actions.beforeEnable` and `actions.afterCompletion` hold them. */
export type ClusterEdits = NonNullable<NonNullable<ClusterGroupUpgradeSpec['actions']>['beforeEnable']>;

/** Progress of one cluster of the current batch, as stored in the status. */
export type ClusterProgress = NonNullable<ClusterGroupUpgradeStatus['status']['currentBatchRemediationProgress']>[string];

/** States of `ClusterProgress`. */
export const ProgressState = { notStarted: 'NotStarted', inProgress: 'InProgress', completed: 'Completed' } as const;

/** An entry of `status.clusters`: a cluster whose part in the upgrade has ended. */
export type ClusterRecord = NonNullable<ClusterGroupUpgradeStatus['clusters']>[number];

/** States of `ClusterRecord`. */
export const RecordState = { complete: 'complete', timedOut: 'timedout', failed: 'failed' } as const;

/** A Subscription that a policy wants, as `managedPoliciesContent` lists it. */
export const SubscriptionRef = z.object({ kind: z.string(), name: z.string(), apiVersion: z.string(), namespace: z.string() });
export type SubscriptionRef = Readonly<z.output<typeof SubscriptionRef>>;

/** State that must become true for one spoke, derived from the stored status alone (`targetsOf`, `targetOf` in targets.ts). */
export type SpokeTarget =
  /** Before its batch: the edits of `beforeEnable`, and the label `name` when Placements have to find the cluster by it. */
  | {
      readonly phase: 'prepare';
      readonly edits: ClusterEdits | undefined;
      readonly nameLabel: boolean;
      /** It came after the start, perhaps from an earlier batch, of which nothing may be left; default false. */
      readonly isLate?: boolean;
    }
  /** At a policy: its Subscriptions have their InstallPlans approved. Enforcing it is the Placement's part, not the step's. */
  | { readonly phase: 'remediate'; readonly mode: 'policy'; readonly policy: string; readonly subscriptions: readonly SubscriptionRef[] }
  /** At a template (name of a ManifestWorkReplicaSet in the upgrade's namespace): its ManifestWork is there, and no other one. */
  | { readonly phase: 'remediate'; readonly mode: 'manifestWork'; readonly template: string }
  /** Done: the edits of `afterCompletion` (absent once the cluster is recorded), no views and actions left; its last ManifestWork stays. */
  | { readonly phase: 'complete'; readonly edits: ClusterEdits | undefined }
  /** Nothing of the upgrade is left in the cluster's namespace, but ManifestWorks where `keepWorks`. */
  | { readonly phase: 'cleanup'; readonly keepWorks: boolean };

/**
 * Standing of a cluster at one policy or template now. Not matched: it is known that there is nothing to do there, and nothing to soak. Unseen:
 * nobody can say now, so the cluster is held.
 */
export type Standing = 'done' | 'pending' | 'notMatched' | 'unseen';

/** A policy was seen to be meant for a cluster, or not to be; undefined: it could not be known. */
export type Meant = 'meant' | 'notMeant' | undefined;

/** Mode by which clusters move along: policies or ManifestWorks. It is built for each pass from the caches, and all of it is pure. */
export interface RolloutMode {
  readonly kind: 'policy' | 'manifestWork';
  /** Number of policies or templates, which are gone through in order. */
  readonly count: number;
  /** Name of a policy or template. */
  readonly name: (index: number) => string;
  readonly standing: (cluster: string, index: number) => Standing;
  /** When what is pending is done if nothing changes, milliseconds since the epoch; absent: never. */
  readonly doneAt?: (cluster: string, index: number) => number | undefined;
  /** Seconds a policy must stay compliant before the next one; 0 for no soak. */
  readonly soakSeconds: (index: number) => number;
  /** For whom a policy is meant, as seen now or before; absent: nobody remembers. */
  readonly meant?: (cluster: string, index: number) => Meant;
  /** Told of a cluster that is held there by more than its own work. */
  readonly wait?: (cluster: string, index: number) => Pick<Wait, 'cause' | 'says' | 'fix' | 'of'> | undefined;
  /** Detail in `status.clusters` of a cluster that timed out at this index. */
  readonly detail: (cluster: string, index: number) => Pick<ClusterRecord, 'currentPolicy' | 'currentManifestWork'>;
}

/** Everything one pass of a running rollout looks at besides the stored status. */
export interface RolloutObservation {
  readonly mode: RolloutMode;
  /** The ManagedCluster is there. */
  readonly exists: (cluster: string) => boolean;
  /** The absent cluster was seen to be deleted, or is to be waited for no more; no function: all were, as for the reference. */
  readonly hasLeft?: (cluster: string) => boolean;
  /** The spoke's agent is not known to be away; absent: none is. */
  readonly isAvailable?: (cluster: string) => boolean;
  /** Why nothing may be begun on the cluster any more; absent: everything may. */
  readonly forbids?: (cluster: string) => Wait | undefined;
  /** Gives the cluster, which is about to begin, its place under the limits of the fleet, or says that there is none; absent: there are no limits. */
  readonly place?: ((cluster: string) => Wait | undefined) | undefined;
  /** Everything `prepare` wants of the cluster is seen to be so. */
  readonly isPrepared: (cluster: string) => boolean;
  /** The edits of `afterCompletion` are seen on the cluster. */
  readonly isEdited: (cluster: string) => boolean;
  /** Why a Placement of the upgrade cannot select clusters, in the words of condition Progressing. */
  readonly placementProblem: string | undefined;
  /** The same as waits of the clusters that are not selected; absent: there are none. */
  readonly unplaced?: ReadonlyMap<string, Wait>;
  /** A Placement selects a cluster that is no member, so that its policy is enforced on nobody; absent: none does. */
  readonly surplus?: Wait | undefined;
  /** Problem that keeps the hub from making a cluster's target true, if it lasts; without a cluster, that of the Placements. */
  readonly problem: (cluster: string | undefined) => RolloutProblem | undefined;
  /** Something that a cluster waits for besides, or that all of them do (no cluster): told in the status; absent: nothing. */
  readonly wait?: (cluster: string | undefined) => Wait | undefined;
  /** A cluster that is not available, which is told where nothing else is. */
  readonly away?: (cluster: string) => Wait | undefined;
  /** Since when clusters that were complete are seen not to comply, by cluster; absent: they are left alone. */
  readonly drift?: Sightings | undefined;
  /** When there may be more to see even if nothing changes, milliseconds since the epoch. */
  readonly lookAt?: number | undefined;
}

/** An error that lasts: the steps of a cluster, or those of the Placements, fail again and again. */
export interface RolloutProblem {
  /** A sentence with object, value and fix. */
  readonly message: string;
  /** The same as the status says it; absent: by the sentence. */
  readonly wait?: Wait;
  /** The API server refuses it as it is (forbidden, invalid, denied at admission), and has for a while: waiting alone changes nothing. */
  readonly isRefused: boolean;
}

/** Status, reason and message of one condition. */
export interface Verdict {
  readonly status: 'True' | 'False';
  readonly reason: ConditionReason;
  readonly message: string;
}

/** A managed policy as the status names it. */
export type PolicyRef = Required<Ref>;

/** One write. Writes of a plan are made in order; each is idempotent. */
export type HubWrite =
  | { readonly verb: 'create'; readonly kind: Resource; readonly object: KubeObject }
  /** Deletes this very object; one with another uid counts as gone. */
  | { readonly verb: 'delete'; readonly kind: Resource; readonly ref: Ref; readonly uid: string }
  /** JSON merge patch, or a list of JSON patch; an object that is gone needs none. `says`: its effect, where it has the time too. */
  | { readonly verb: 'patch'; readonly kind: Resource; readonly ref: Ref; readonly patch: unknown; readonly says?: string };

/** The deletion of an object as it was seen. */
export const deletionOf = (kind: Resource, { metadata }: KubeObject): HubWrite => ({
  verb: 'delete',
  kind,
  ref: { namespace: metadata.namespace, name: metadata.name },
  uid: metadata.uid ?? '',
});
