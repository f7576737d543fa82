/** Why InstallPlans that a policy waits for are not approved on a cluster. Pure. */
import { Annotation, findCondition } from '@flotilla/api';
import type { WhyLink } from '@flotilla/api/answers';
import { ACTION_COMPLETED } from '@flotilla/api/ocm';
import { targetOf } from '../spoke/targets.ts';
import { observeOutcome } from '../transport/action-outcome.ts';
import { objectOf } from './facts.ts';
import { link } from './finding.ts';
import type { ClusterQuestion } from './question.ts';

/** Links for approvals that the cluster has refused; none where its policy has no Subscriptions. */
export function refusedApprovals({ facts, cluster }: Pick<ClusterQuestion, 'facts' | 'cluster'>): WhyLink[] {
  const target = targetOf(facts.upgrade, cluster);
  if (target.phase !== 'remediate' || target.mode !== 'policy' || target.subscriptions.length === 0) return [];
  const namespaces = new Set(target.subscriptions.map(({ namespace }) => namespace));
  return (objectOf(facts.approvals(cluster)) ?? []).flatMap((action) => {
    const { resource, namespace = '' } = action.spec?.kube ?? {};
    if (resource !== 'installplan' || !namespaces.has(namespace)) return [];
    const { outcome, message, retries } = observeOutcome(action);
    const approval = `the approval of InstallPlan ${namespace}/${action.metadata.name} was refused`;
    const object = `ManagedClusterAction ${cluster}/${action.metadata.name}`;
    if (outcome === 'pending' && retries > 0) {
      const field = `metadata.annotations[${Annotation.retries}]`;
      return link(`${approval} ${retries} times and is tried again`, { object, field, value: String(retries) });
    }
    if (outcome !== 'failed') return [];
    const observedAt = findCondition(action.status?.conditions, ACTION_COMPLETED)?.lastTransitionTime;
    const field = `status.conditions[${ACTION_COMPLETED}].message`;
    return link(`${approval}: ${message}`, { object, field, value: message, observedAt });
  });
}
