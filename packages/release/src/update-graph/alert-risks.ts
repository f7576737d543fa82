import type { ClusterRisk } from './cluster-risks.ts';

/** An alert as monitoring tells it. */
export interface Alert {
  /** `pending`, `firing`. */
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const REDISTRIBUTION: ReadonlySet<string> = new Set([
  'KubeContainerWaiting',
  'KubeletHealthState',
  'KubeNodeNotReady',
  'KubeNodeReadinessFlapping',
  'KubeNodeUnreachable',
  'VirtHandlerDaemonSetRolloutFailing',
  'VMCannotBeEvicted',
]);

/** Impact of an alert on updates; undefined where it has none (spec/cvo 5.7). */
function impactOf({ labels }: Alert): string | undefined {
  const { alertname = '', severity, openShiftUpdatePrecheck } = labels;
  if (severity === 'critical') return 'suggesting significant cluster issues worth investigating';
  if (alertname === 'PodDisruptionBudgetAtLimit') return 'which might slow node drains';
  if (REDISTRIBUTION.has(alertname)) return 'which may slow workload redistribution during rolling node updates';
  if (openShiftUpdatePrecheck === 'true') return 'suggesting issues worth investigating before updating the cluster';
  return undefined;
}

/** Alerts that speak against every update, each name once. */
export function alertRisks(alerts: readonly Alert[]): readonly ClusterRisk[] {
  const risky = alerts.filter((alert) => alert.state !== 'pending' && alert.labels.alertname && impactOf(alert) !== undefined);
  return [...Map.groupBy(risky, ({ labels }) => labels.alertname ?? '')].map(([name, instances]) => {
    const texts = [...new Set(instances.map(textOf))].sort();
    const [first] = instances;
    return {
      name,
      message: texts.join('; '),
      url: first?.annotations.runbook_url,
      reason: `Alert:${first?.state ?? ''}`,
      details: texts.join('; '),
      isOfEvery: true,
    };
  });
}

function textOf(alert: Alert): string {
  const { labels, annotations, state } = alert;
  const { alertname = '', severity = '' } = labels;
  const { summary = '', description = annotations.message ?? '', runbook_url: runbook = '' } = annotations;
  const what = [severity, 'alert', alertname, state].filter((part) => part !== '').join(' ');
  const details = [summary, description, runbook].filter((part) => part !== '').join(' ');
  return `${what}, ${impactOf(alert) ?? ''}. ${details}`.trim();
}

/** The risk of not knowing which alerts there are. */
export const unknownAlerts = (why: string): ClusterRisk => ({
  name: 'AlertUnknown',
  message: `Alerts of the cluster could not be read: ${why}`,
  isOfEvery: true,
});
