import { ClusterOperator, type RelatedObject } from '@flotilla/api/config';
import { UpgradeCondition, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import type { Client, Clock, Logger, Metrics, WatchCache } from '@flotilla/runtime';
import { type OperatorReport, type ReportedCondition, startClusterOperatorReporter } from '@flotilla/runtime/cluster-operator';
import { isWithdrawn } from '@flotilla/upgrade';

interface SelfReportOptions {
  readonly client: Client;
  /** Name of the ClusterOperator. */
  readonly name: string;
  /** Version of the release that the operator belongs to. */
  readonly version: string;
  readonly namespace: string;
  readonly upgradeConfigs: WatchCache<UpgradeConfig>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Reports the operator as a ClusterOperator, so that whoever looks after operators sees it too, until the signal aborts. */
export async function reportSelf(options: SelfReportOptions, signal: AbortSignal): Promise<void> {
  const { upgradeConfigs, namespace, version } = options;
  const reporter = startClusterOperatorReporter({ ...options, signal });
  const tell = (): void => reporter.report(reportOf(upgradeConfigs.list()[0]?.status?.history?.[0], { namespace, version }));
  const unsubscribe = upgradeConfigs.subscribe(tell);
  await upgradeConfigs.synced();
  tell();
  await reporter.stopped;
  unsubscribe();
}

const good = (status: ReportedCondition['status'], message: string): ReportedCondition => ({ status, reason: 'AsExpected', message });

/** The operator reports itself degraded while it cannot do what is asked of it, and when an upgrade was given up. */
export function reportOf(
  newest: UpgradeHistory | undefined,
  { namespace, version }: { readonly namespace: string; readonly version: string },
): OperatorReport {
  return {
    version,
    conditions: {
      Available: good('True', 'Upgrades are carried out as the UpgradeConfig asks'),
      Progressing: good('False', `The operator runs version ${version}`),
      Degraded: degradedOf(newest) ?? good('False', 'Nothing keeps an upgrade from being carried out'),
    },
    operands: [{ name: 'upgrade-operator', wanted: version, running: [version] }],
    relatedObjects: relatedTo(namespace),
  };
}

function degradedOf(newest: UpgradeHistory | undefined): ReportedCondition | undefined {
  const isFalse = (type: UpgradeCondition) => newest?.conditions?.find((one) => one.type === type && one.status === 'False');
  const because = (reason: string, message: string): ReportedCondition => ({ status: 'True', reason, message });
  const unconfigured = isFalse(UpgradeCondition.configured);
  if (unconfigured) return because('OperatorNotConfigured', unconfigured.message || 'The ConfigMap of the operator cannot be used.');
  const invalid = isFalse(UpgradeCondition.validated);
  if (invalid) return because('UpgradeConfigInvalid', invalid.message || 'The UpgradeConfig cannot be carried out.');
  if (newest?.phase !== 'Failed' || isWithdrawn(newest)) return undefined;
  return because('UpgradeFailed', `The upgrade to ${newest.version} was given up; its conditions in the UpgradeConfig say why.`);
}

const groupOf = (apiVersion: string): string => apiVersion.split('/').slice(0, -1).join('');

const relatedTo = (namespace: string): RelatedObject[] => [
  { group: '', resource: 'namespaces', name: namespace },
  { group: groupOf(UpgradeConfig.apiVersion), resource: UpgradeConfig.plural, namespace, name: '' },
  { group: groupOf(ClusterOperator.apiVersion), resource: 'clusterversions', name: 'version' },
];
