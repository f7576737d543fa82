import type { ClusterOperator } from '@flotilla/api/config';
import { type HealthCheck, HealthReason, type Seen } from './finding.ts';

/** No ClusterOperator is degraded or unavailable (spec/muo 6.3). */
export const clusterOperators: HealthCheck<Seen<'clusterOperators'>> = {
  reasons: [HealthReason.operatorsDegraded, HealthReason.operatorsUnknown],
  look({ cluster }) {
    const unwell = cluster.clusterOperators.filter((operator) => has(operator, 'Degraded', 'True') || has(operator, 'Available', 'False'));
    if (unwell.length === 0) return undefined;
    const names = unwell.map(({ metadata }) => metadata.name).join(', ');
    return { reason: HealthReason.operatorsDegraded, message: `degraded operators: ${names}`, token: 'ClusterOperatorsHealthcheckFailed' };
  },
};

const has = ({ status }: ClusterOperator, type: string, value: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false;
