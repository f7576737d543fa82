import { type Prometheus, promqlString, type Sample } from '@flotilla/http';
import type { OperatorConfig } from '../operator-config/schema.ts';
import type { AlertHistory } from '../ports.ts';

/** Alerts that page somebody about an upgrade (spec/muo 8.8). */
const PAGING = [
  'UpgradeConfigValidationFailedSRE',
  'UpgradeClusterCheckFailedSRE',
  'UpgradeControlPlaneUpgradeTimeoutSRE',
  'UpgradeNodeUpgradeTimeoutSRE',
  'UpgradeNodeDrainFailedSRE',
] as const;

/** Critical alerts that fire in namespaces of the platform, but for what is ignored (spec/muo 6.2). */
export function criticalAlertsQuery({ ignoredCriticals, ignoredNamespaces }: OperatorConfig['healthCheck']): string {
  const matchers = [
    'alertstate="firing"',
    'severity="critical"',
    'namespace=~"^openshift.*|^kube-.*|^default$"',
    ...ignoredNamespaces.map((name) => `namespace!=${promqlString(name)}`),
    ...ignoredCriticals.map((name) => `alertname!=${promqlString(name)}`),
  ];
  return `ALERTS{${matchers.join(',')}}`;
}

/** Paging alerts that fired between two moments, as seen from now (spec/muo 8.8). */
export function pagingAlertsQuery({ startMs, endMs, nowMs }: { startMs: number; endMs: number; nowMs: number }): string {
  const range = Math.max(1, Math.floor((endMs - startMs) / 1000));
  const ago = Math.floor((nowMs - endMs) / 1000);
  // An offset of nothing is no PromQL.
  const offset = ago > 0 ? ` offset ${goDuration(ago)}` : '';
  const alerts = `ALERTS{alertstate="firing",severity="critical",alertname=~"${PAGING.join('|')}"}`;
  return `sum by (alertname) (max_over_time(${alerts}[${goDuration(range)}]${offset}))`;
}

/** `1h0m3s`, as Go prints whole seconds. */
export function goDuration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/** Names of the alerts among samples, each once, sorted: Prometheus promises no order, and the same alerts must read the same. */
export const alertNames = (samples: readonly Sample[]): string[] =>
  [...new Set(samples.flatMap(({ labels }) => labels.alertname || []))].toSorted();

/** Alerts of the past, asked of Prometheus. */
export const createAlertHistory = (prometheus: Pick<Prometheus, 'query'>, now: () => number): AlertHistory => ({
  async paging(startMs, endMs, signal) {
    return alertNames(await prometheus.query(pagingAlertsQuery({ startMs, endMs, nowMs: now() }), signal));
  },
});
