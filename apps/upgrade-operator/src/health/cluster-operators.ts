import { type HealthCheck, HealthReason } from './finding.ts';

/** As much of a ClusterOperator as tells whether it is well. */
interface OperatorState {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null } | null;
}

/** No ClusterOperator is degraded or unavailable (spec/muo 6.3). */
export const clusterOperators: HealthCheck<{ readonly operators: readonly OperatorState[] }> = {
  reasons: [HealthReason.operatorsDegraded, HealthReason.operatorsUnknown],
  look({ operators }) {
    const unwell = operators.filter((operator) => has(operator, 'Degraded', 'True') || has(operator, 'Available', 'False'));
    if (unwell.length === 0) return undefined;
    const names = unwell.map(({ metadata }) => metadata.name).join(', ');
    return { reason: HealthReason.operatorsDegraded, message: `degraded operators: ${names}`, token: 'ClusterOperatorsHealthcheckFailed' };
  },
};

const has = ({ status }: OperatorState, type: string, value: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false;
