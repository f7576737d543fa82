/** The events of an upgrade, word for word those of the reference, and our own for what it says nothing about (spec/talm 5.4). Pure. */

import { type EventToRecord, eventSubject } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, cutAtWord } from '@flotilla/api/ran';

const PREFIX = 'cgu.openshift.io/';

/** One event, as a recorder takes it. */
export type UpgradeEvent = EventToRecord & Required<Pick<EventToRecord, 'annotations'>>;

/** A batch of the plan: its number from 1, and its clusters. */
export interface Batch {
  readonly index: number;
  readonly clusters: readonly string[];
}

/** Problem of an upgrade; the list in the note and the annotation `key` name its `items`. */
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

/** Type, reason and action of an event. */
type Kind = readonly [type: UpgradeEvent['type'], reason: string, action: string];
type Annotations = Readonly<Record<string, string | number>>;

/** Makes the events about one upgrade. @param total number of clusters of the plan */
export function upgradeEvents(upgrade: ClusterGroupUpgrade, total: number) {
  const make = makerOf(upgrade, total);
  return { ...eventsOfUpgrade(make), ...eventsOfBatches(make), ...eventsOfClusters(make), ...eventsOfPhases(make) };
}

/** The events that `upgradeEvents` makes. */
export type UpgradeEvents = ReturnType<typeof upgradeEvents>;

type Maker = ReturnType<typeof makerOf>;

/** The parts that the events of one upgrade share. */
function makerOf(upgrade: ClusterGroupUpgrade, total: number) {
  const { name } = upgrade.metadata;
  const regarding = eventSubject(ClusterGroupUpgrade, upgrade);
  const event = ([type, reason, action]: Kind, note: string, annotations: Annotations): UpgradeEvent => ({
    type,
    reason,
    action,
    note,
    regarding,
    annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${PREFIX}${key}`, String(value)])),
  });
  return {
    name,
    title: `ClusterGroupUpgrade ${name}`,
    totals: { 'total-clusters-count': total },
    event,
    ofUpgrade: (kind: Kind, note: string, annotations: Annotations = {}) => event(kind, note, { 'event-type': 'global', ...annotations }),
    ofCluster: (kind: Kind, note: string, cluster: string): UpgradeEvent => ({
      ...event(kind, note, { 'event-type': 'cluster', 'cluster-name': cluster }),
      related: { apiVersion: ManagedCluster.apiVersion, kind: ManagedCluster.kind, name: cluster },
    }),
  };
}

/** A list as annotations: sorted, joined by commas, and counted. */
const listed = (key: string, items: readonly string[]) => ({ [key]: items.toSorted().join(','), [`${key}-count`]: items.length });

const eventsOfUpgrade = ({ name, title, totals, event, ofUpgrade }: Maker) => ({
  created: () => ofUpgrade(['Normal', 'CguCreated', 'BuildingRemediationPlan'], `New ClusterGroupUpgrade found: ${name}`),

  invalid: ({ label, items, key, counted }: ValidationProblem) =>
    event(
      ['Warning', 'CguValidationFailure', 'RemediationOnHoldDueToValidationFailure'],
      `${title}: validation failure (${label}): ${items.join(',')}`,
      key === undefined ? {} : { [key]: items.join(','), ...(counted && { [`${key}-count`]: items.length }) },
    ),

  started: (batches: number) =>
    ofUpgrade(['Normal', 'CguStarted', 'RemediationStarted'], `${title} started remediating policies`, {
      ...totals,
      'total-batches-count': batches,
    }),

  completed: () => ofUpgrade(['Normal', 'CguSuccess', 'RemediationCompleted'], `${title} succeeded remediating policies`, totals),

  /** Also of an upgrade that failed otherwise: the reference has no other event for it. */
  timedOut: (clusters: readonly string[]) =>
    ofUpgrade(['Warning', 'CguTimedout', 'RemediationTimeout'], `${title} timed-out remediating policies`, {
      ...listed('timedout-clusters', clusters),
      ...totals,
    }),

  /** `message`: that of condition Progressing, which names the time and the annotation. */
  waitingForWindow: (message: string) => ofUpgrade(['Normal', 'CguWaitingForWindow', 'WaitingForWindow'], `${title}: ${message}`),

  /** `message`: that of condition Paused. */
  paused: (message: string) => ofUpgrade(['Normal', 'CguPaused', 'Paused'], `${title}: ${message}`),

  resumed: () => ofUpgrade(['Normal', 'CguResumed', 'Resumed'], `${title}: goes on after a pause`),

  /** `clusters`: those that failed and are tried again. */
  retried: (clusters: readonly string[]) => ofUpgrade(['Normal', 'CguRetried', 'Retried'], `${title}: ${retryText(clusters)}`),

  /** `clusters`: those whose name another ManagedCluster has now. */
  importedAgain: (clusters: readonly string[]) =>
    ofUpgrade(
      ['Normal', 'CguImportedAgain', 'Restarted'],
      `${title}: begins anew on clusters that were imported again: ${cutAtWord(clusters.toSorted().join(', '))}`,
    ),
});

const retryText = (clusters: readonly string[]): string =>
  clusters.length > 0
    ? `tries again, as asked: ${cutAtWord(clusters.toSorted().join(', '))}`
    : 'nothing is tried again: no cluster that is meant has failed';

function eventsOfBatches({ title, totals, event }: Maker) {
  const ofBatch = (kind: Kind, note: string, { clusters }: Batch) =>
    event(kind, note, { 'event-type': 'batch', ...listed('batch-clusters', clusters), ...totals });
  return {
    batchStarted: (batch: Batch) =>
      ofBatch(['Normal', 'CguStarted', 'RemediationInBatchStarted'], `${title}: batch index ${batch.index} upgrade started`, batch),

    batchCompleted: (batch: Batch) =>
      ofBatch(
        ['Normal', 'CguSuccess', 'RemediationInBatchCompleted'],
        `${title}: all clusters in the batch index ${batch.index} are compliant with managed policies`,
        batch,
      ),

    batchTimedOut: ({ index, clusters }: Batch, timedOut: readonly string[]) =>
      event(
        ['Warning', 'CguTimedout', 'RemediationInBatchTimeout'],
        `${title}: some clusters in the batch index ${index} timed out remediating policies`,
        { 'event-type': 'batch', ...listed('timedout-clusters', timedOut), 'batch-clusters-count': clusters.length, ...totals },
      ),
  };
}

const eventsOfClusters = ({ title, ofCluster }: Maker) => ({
  clusterStarted: (cluster: string) =>
    ofCluster(['Normal', 'CguStarted', 'RemediationInClusterStarted'], `${title}: cluster ${cluster} upgrade started`, cluster),

  clusterCompleted: (cluster: string) =>
    ofCluster(
      ['Normal', 'CguSuccess', 'RemediationInClusterCompleted'],
      `${title}: cluster ${cluster} upgrade finished successfully`,
      cluster,
    ),

  clusterDisappeared: (cluster: string) =>
    ofCluster(
      ['Warning', 'CguClusterDisappeared', 'RemediationInClusterFailed'],
      `${title}: cluster ${cluster} is no longer a ManagedCluster and is recorded as failed`,
      cluster,
    ),

  clusterRefused: (cluster: string, message: string) =>
    ofCluster(
      ['Warning', 'CguClusterFailed', 'RemediationInClusterFailed'],
      `${title}: cluster ${cluster} is recorded as failed: ${message}`,
      cluster,
    ),

  /** An error that lasts. `held`: a cluster, or what else `status.messages` names. */
  held: (held: string, message: string) =>
    ofCluster(['Warning', 'CguHeld', 'RemediationHeldByError'], `${title}: ${held}: ${message}`, held),
});

function eventsOfPhases({ title, totals, ofUpgrade, ofCluster }: Maker) {
  const kind = (type: UpgradeEvent['type'], phase: Phase, reason: string, action = reason): Kind => [
    type,
    `${phases[phase].reason}${reason}`,
    `${phases[phase].action}${action}`,
  ];
  const note = (phase: Phase, says: string) => `${title}: ${phases[phase].name} ${says}`;
  const failedOn = (clusters: readonly string[]) => ({ ...listed('failed-clusters', clusters), ...totals });
  return {
    phaseStarted: (phase: Phase) => ofUpgrade(kind('Normal', phase, 'Started'), note(phase, 'started'), totals),

    phaseCompleted: (phase: Phase) => ofUpgrade(kind('Normal', phase, 'Completed'), note(phase, 'completed on all clusters'), totals),

    phasePartlyDone: (phase: Phase, failed: readonly string[]) =>
      ofUpgrade(
        kind('Warning', phase, 'PartiallyDone'),
        note(phase, `failed on ${failed.length} clusters; the others go on`),
        failedOn(failed),
      ),

    phaseFailed: (phase: Phase, failed: readonly string[]) =>
      ofUpgrade(kind('Warning', phase, 'Failed'), note(phase, 'failed on all clusters'), failedOn(failed)),

    /** `why`: the state of the cluster, and what more is known. */
    phaseFailedOn: (phase: Phase, cluster: string, why: string) =>
      ofCluster(kind('Warning', phase, 'Failed', 'InClusterFailed'), note(phase, `failed on cluster ${cluster}: ${why}`), cluster),

    /** `why`: the message of the cluster in the status. */
    phaseImpededOn: (phase: Phase, cluster: string, why: string) =>
      ofCluster(kind('Warning', phase, 'Impeded', 'InClusterImpeded'), note(phase, `on cluster ${cluster} ${why}`), cluster),
  };
}
