/** The events of an upgrade, word for word those of the reference, and our own for what it says nothing about (spec/talm 5.4). Pure. */

import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, cutAtWord } from '@flotilla/api/ran';

const PREFIX = 'cgu.openshift.io/';

/** The object an event is about, or is related to. */
interface Subject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** One event, as a recorder takes it. */
export interface UpgradeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: Subject;
  readonly related?: Subject;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A batch of the plan: its number from 1, and its clusters. */
export interface Batch {
  readonly index: number;
  readonly clusters: readonly string[];
}

/** What is wrong with an upgrade; `items` are what the list in the note and the annotation `key` name. */
export interface ValidationProblem {
  /** Such as `missing clusters`. */
  readonly label: string;
  readonly items: readonly string[];
  /** Absent: no annotation. */
  readonly key?: string;
  /** Adds the annotation `<key>-count`. */
  readonly counted?: boolean;
}

/** A phase that goes over all clusters before the remediation. */
export type Phase = 'precaching' | 'backup';
const phases = {
  precaching: { reason: 'CguPrecaching', action: 'Precaching', name: 'pre-caching' },
  backup: { reason: 'CguBackup', action: 'Backup', name: 'backup' },
} as const;

/** Events about one upgrade. Lists are sorted and joined by commas; `total` is the number of clusters of the plan. */
export function upgradeEvents(upgrade: ClusterGroupUpgrade, total: number) {
  const { name, namespace, uid, resourceVersion } = upgrade.metadata;
  const regarding = { apiVersion: ClusterGroupUpgrade.apiVersion, kind: ClusterGroupUpgrade.kind, namespace, name, uid, resourceVersion };
  const event = (
    type: UpgradeEvent['type'],
    [reason, action]: readonly [string, string],
    note: string,
    annotations: Record<string, string | number>,
    cluster?: string,
  ): UpgradeEvent => ({
    type,
    reason,
    action,
    note,
    regarding,
    annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${PREFIX}${key}`, String(value)])),
    ...(cluster !== undefined && { related: { apiVersion: ManagedCluster.apiVersion, kind: ManagedCluster.kind, name: cluster } }),
  });
  const title = `ClusterGroupUpgrade ${name}`;
  const totals = { 'total-clusters-count': total };
  const ofCluster = (cluster: string) => ({ 'event-type': 'cluster', 'cluster-name': cluster });
  const ofBatch = ({ clusters }: Batch) => ({
    'event-type': 'batch',
    'batch-clusters': clusters.toSorted().join(','),
    'batch-clusters-count': clusters.length,
    ...totals,
  });
  const listed = (key: string, items: readonly string[]) => ({ [key]: items.toSorted().join(','), [`${key}-count`]: items.length });

  return {
    created: () =>
      event('Normal', ['CguCreated', 'BuildingRemediationPlan'], `New ClusterGroupUpgrade found: ${name}`, { 'event-type': 'global' }),

    started: (batches: number) =>
      event('Normal', ['CguStarted', 'RemediationStarted'], `${title} started remediating policies`, {
        'event-type': 'global',
        ...totals,
        'total-batches-count': batches,
      }),

    batchStarted: (batch: Batch) =>
      event('Normal', ['CguStarted', 'RemediationInBatchStarted'], `${title}: batch index ${batch.index} upgrade started`, ofBatch(batch)),

    clusterStarted: (cluster: string) =>
      event(
        'Normal',
        ['CguStarted', 'RemediationInClusterStarted'],
        `${title}: cluster ${cluster} upgrade started`,
        ofCluster(cluster),
        cluster,
      ),

    clusterCompleted: (cluster: string) =>
      event(
        'Normal',
        ['CguSuccess', 'RemediationInClusterCompleted'],
        `${title}: cluster ${cluster} upgrade finished successfully`,
        ofCluster(cluster),
        cluster,
      ),

    batchCompleted: (batch: Batch) =>
      event(
        'Normal',
        ['CguSuccess', 'RemediationInBatchCompleted'],
        `${title}: all clusters in the batch index ${batch.index} are compliant with managed policies`,
        ofBatch(batch),
      ),

    completed: () =>
      event('Normal', ['CguSuccess', 'RemediationCompleted'], `${title} succeeded remediating policies`, {
        'event-type': 'global',
        ...totals,
      }),

    batchTimedOut: ({ index, clusters }: Batch, timedOut: readonly string[]) =>
      event(
        'Warning',
        ['CguTimedout', 'RemediationInBatchTimeout'],
        `${title}: some clusters in the batch index ${index} timed out remediating policies`,
        { 'event-type': 'batch', ...listed('timedout-clusters', timedOut), 'batch-clusters-count': clusters.length, ...totals },
      ),

    /** Also of an upgrade that failed otherwise: the reference has no other event for it. */
    timedOut: (clusters: readonly string[]) =>
      event('Warning', ['CguTimedout', 'RemediationTimeout'], `${title} timed-out remediating policies`, {
        'event-type': 'global',
        ...listed('timedout-clusters', clusters),
        ...totals,
      }),

    invalid: ({ label, items, key, counted }: ValidationProblem) =>
      event(
        'Warning',
        ['CguValidationFailure', 'RemediationOnHoldDueToValidationFailure'],
        `${title}: validation failure (${label}): ${items.join(',')}`,
        key === undefined ? {} : { [key]: items.join(','), ...(counted && { [`${key}-count`]: items.length }) },
      ),

    phaseStarted: (phase: Phase) => {
      const { reason, action, name: what } = phases[phase];
      return event('Normal', [`${reason}Started`, `${action}Started`], `${title}: ${what} started`, { 'event-type': 'global', ...totals });
    },

    phaseCompleted: (phase: Phase) => {
      const { reason, action, name: what } = phases[phase];
      return event('Normal', [`${reason}Completed`, `${action}Completed`], `${title}: ${what} completed on all clusters`, {
        'event-type': 'global',
        ...totals,
      });
    },

    phasePartlyDone: (phase: Phase, failed: readonly string[]) => {
      const { reason, action, name: what } = phases[phase];
      const note = `${title}: ${what} failed on ${failed.length} clusters; the others go on`;
      const lists = listed('failed-clusters', failed);
      return event('Warning', [`${reason}PartiallyDone`, `${action}PartiallyDone`], note, { 'event-type': 'global', ...lists, ...totals });
    },

    phaseFailed: (phase: Phase, failed: readonly string[]) => {
      const { reason, action, name: what } = phases[phase];
      const lists = listed('failed-clusters', failed);
      return event('Warning', [`${reason}Failed`, `${action}Failed`], `${title}: ${what} failed on all clusters`, {
        'event-type': 'global',
        ...lists,
        ...totals,
      });
    },

    /** `why`: the state of the cluster, and what more is known. */
    phaseFailedOn: (phase: Phase, cluster: string, why: string) => {
      const { reason, action, name: what } = phases[phase];
      const note = `${title}: ${what} failed on cluster ${cluster}: ${why}`;
      return event('Warning', [`${reason}Failed`, `${action}InClusterFailed`], note, ofCluster(cluster), cluster);
    },

    /** `why`: the message of the cluster in the status. */
    phaseImpededOn: (phase: Phase, cluster: string, why: string) => {
      const { reason, action, name: what } = phases[phase];
      const note = `${title}: ${what} on cluster ${cluster} ${why}`;
      return event('Warning', [`${reason}Impeded`, `${action}InClusterImpeded`], note, ofCluster(cluster), cluster);
    },

    clusterDisappeared: (cluster: string) =>
      event(
        'Warning',
        ['CguClusterDisappeared', 'RemediationInClusterFailed'],
        `${title}: cluster ${cluster} is no longer a ManagedCluster and is recorded as failed`,
        ofCluster(cluster),
        cluster,
      ),

    /** An error that lasts. `held`: a cluster, or what else `status.messages` names. */
    held: (held: string, message: string) =>
      event('Warning', ['CguHeld', 'RemediationHeldByError'], `${title}: ${held}: ${message}`, ofCluster(held), held),

    clusterRefused: (cluster: string, message: string) =>
      event(
        'Warning',
        ['CguClusterFailed', 'RemediationInClusterFailed'],
        `${title}: cluster ${cluster} is recorded as failed: ${message}`,
        ofCluster(cluster),
        cluster,
      ),

    /** `message`: that of condition Progressing, which names the time and the annotation. */
    waitingForWindow: (message: string) =>
      event('Normal', ['CguWaitingForWindow', 'WaitingForWindow'], `${title}: ${message}`, { 'event-type': 'global' }),

    /** `message`: that of condition Paused. */
    paused: (message: string) => event('Normal', ['CguPaused', 'Paused'], `${title}: ${message}`, { 'event-type': 'global' }),

    /** `clusters`: those that failed and are tried again. */
    retried: (clusters: readonly string[]) =>
      event('Normal', ['CguRetried', 'Retried'], `${title}: ${retryText(clusters)}`, { 'event-type': 'global' }),

    resumed: () => event('Normal', ['CguResumed', 'Resumed'], `${title}: goes on after a pause`, { 'event-type': 'global' }),
  };
}

const retryText = (clusters: readonly string[]): string =>
  clusters.length > 0
    ? `tries again, as asked: ${cutAtWord(clusters.toSorted().join(', '))}`
    : 'nothing is tried again: no cluster that is meant has failed';

/** What `upgradeEvents` makes. */
export type UpgradeEvents = ReturnType<typeof upgradeEvents>;
