import { errorMessage } from '@flotilla/api';
import type { Prometheus } from '../clients/prometheus.ts';
import type { OperatorConfig } from '../operator-config/schema.ts';
import { alertNames, criticalAlertsQuery } from './alerts.ts';
import { type HealthCheck, HealthReason, type Problem } from './finding.ts';

const token = 'CriticalAlertsHealthcheckFailed';

/** No critical alert of the platform fires (spec/muo 6.2). Monitoring that does not answer is no good news. */
export const criticalAlerts = (prometheus: Prometheus): HealthCheck<{ readonly config: Pick<OperatorConfig, 'healthCheck'> }> => ({
  reasons: [HealthReason.queryFailed, HealthReason.criticalAlerts],
  async look({ config }, signal): Promise<Problem | undefined> {
    let firing: string[];
    try {
      firing = alertNames(await prometheus.query(criticalAlertsQuery(config.healthCheck), signal));
    } catch (error) {
      signal.throwIfAborted();
      return { reason: HealthReason.queryFailed, message: `unable to query critical alerts: ${errorMessage(error)}`, token };
    }
    if (firing.length === 0) return undefined;
    return { reason: HealthReason.criticalAlerts, message: `critical alert(s) firing: ${firing.join(', ')}`, token };
  },
});
