import { NotificationState, UpgradeCondition, type UpgradeHistory } from '@flotilla/api/managed';
import type { ServiceLog } from '../clients/ocm-answers.ts';
import type { Notification } from '../ports.ts';

/** A word of descriptions by which a delay that is tried again is told from what was skipped: OCM has one state for both. */
export const RETRY_WORD = 'retry';

/** The detail of a delay that is a drain's. */
const DRAIN_DETAIL = 'drain';

const DRAIN_ARTICLE = 'https://access.redhat.com/solutions/7075425';
const HEALTH_ARTICLE = 'https://access.redhat.com/solutions/7081505';

/** Text of a notification (spec/muo 8.2): the words that it holds are a contract, the text is ours. */
export function descriptionOf({ state, upgradeConfig, entry, detail = '' }: Notification): string {
  const version = upgradeConfig.spec.desired.version ?? entry.version ?? 'unknown';
  switch (state) {
    case NotificationState.started:
      return `The upgrade of this cluster to version ${version} is in progress.`;
    case NotificationState.completed:
      return `This cluster was upgraded to version ${version} with success.${leftBehind(detail)}`;
    case NotificationState.delayed:
      return detail === DRAIN_DETAIL ? drainText() : delayText(version, entry);
    case NotificationState.failed:
      return failureText(version, entry);
    case NotificationState.scaleSkipped:
      return `The upgrade to version ${version} goes on without extra workers: this cluster has no worker pool that can be extended.`;
    case NotificationState.skipped:
      return `The upgrade to version ${version} goes on without extra workers: they did not become ready in time.`;
    case NotificationState.controlPlaneStarted:
      return `The control plane of this cluster begins its upgrade to version ${version}.`;
    case NotificationState.controlPlaneFinished:
      return `The control plane of this cluster runs version ${version}; its workers follow.`;
    case NotificationState.workersFinished:
      return detail === ''
        ? `All workers of this cluster were upgraded to version ${version}.`
        : `Workers of this cluster were upgraded to version ${version}.${leftBehind(detail)}`;
    case NotificationState.healthCheck:
      return `The upgrade to version ${version} found problems in this cluster: ${detail}`;
    case NotificationState.cancelled:
      return `The upgrade to version ${version} was withdrawn before it changed anything: this cluster stays as it is.`;
    case NotificationState.preHealthCheck:
      return `The cluster is to be upgraded to version ${version} at ${upgradeConfig.spec.upgradeAt}; a check ahead of it found problems: ${detail}`;
  }
}

/** Service log of a notification; undefined when its state is none of service logs. */
export function serviceLogOf(notification: Notification): ServiceLog | undefined {
  const summary = SUMMARIES[notification.state];
  if (summary === undefined) return undefined;
  const isHealth = notification.state === NotificationState.healthCheck || notification.state === NotificationState.preHealthCheck;
  return { summary, description: descriptionOf(notification), ...(isHealth && { docReferences: [HEALTH_ARTICLE] }) };
}

const SUMMARIES: Readonly<Partial<Record<NotificationState, string>>> = {
  [NotificationState.controlPlaneStarted]: 'Cluster upgrade: control plane started',
  [NotificationState.controlPlaneFinished]: 'Cluster upgrade: control plane finished',
  [NotificationState.workersFinished]: 'Cluster upgrade: workers finished',
  [NotificationState.healthCheck]: 'Cluster upgrade: the cluster is not healthy',
  [NotificationState.preHealthCheck]: 'Cluster upgrade: the cluster is not ready for its upgrade',
  [NotificationState.cancelled]: 'Cluster upgrade: cancelled',
};

/** Without the word of a delay that is tried again: the reference's text has none, so it is read back as skipped (spec/muo 7.6). */
const drainText = (): string =>
  `Nodes take long to drain, which may delay the upgrade; the drain is forced when its grace period is over. See ${DRAIN_ARTICLE}`;

/** @param pools that are paused, separated by commas */
const leftBehind = (pools: string): string =>
  pools === '' ? '' : ` Nodes of paused machine config pools (${pools}) keep what they have until these are resumed.`;

/** Finds the condition that was added last of those that are False: it holds the upgrade up. */
function blockerOf({ conditions = [] }: UpgradeHistory) {
  return conditions.find(({ status }) => status === 'False');
}

/** Reason for a delay by the condition that is not met, and its wording once the upgrade was given up. */
const OBSTACLES: Readonly<Partial<Record<string, readonly [delays: string, ended: string]>>> = {
  [UpgradeCondition.healthyBefore]: ['critical alerts fire or operators are degraded', 'critical alerts fired or operators were degraded'],
  [UpgradeCondition.dependenciesAvailable]: ['services that it depends on do not answer', 'services that it depends on did not answer'],
  [UpgradeCondition.cacheProven]: ['not every node is proven to have its images', 'not every node was proven to have its images'],
  [UpgradeCondition.capacityReserved]: ['extra workers are not ready yet', 'extra workers did not become ready'],
};

function delayText(version: string, entry: UpgradeHistory): string {
  const [delays] = OBSTACLES[blockerOf(entry)?.type ?? ''] ?? [];
  const why = delays === undefined ? ' by a step that takes longer than expected' : `: ${delays}`;
  return `The upgrade to version ${version} is delayed${why}. The operator will ${RETRY_WORD}.`;
}

function failureText(version: string, entry: UpgradeHistory): string {
  const { type = '', message } = blockerOf(entry) ?? {};
  const isRefused = type === UpgradeCondition.isClusterUpgradable;
  if (isRefused && message !== undefined) return message;
  const why = isRefused ? 'the cluster does not let itself be upgraded' : (OBSTACLES[type]?.[1] ?? 'the cluster did not pass verification');
  return `The upgrade to version ${version} was given up before it changed anything: ${why}.`;
}
