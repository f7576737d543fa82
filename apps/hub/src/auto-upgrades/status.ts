import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type EventToRecord, eventSubject } from '@flotilla/runtime';
import type { ClusterPlan } from './plan.ts';

type Refusal = Extract<ClusterPlan, { kind: 'refuse' | 'wait' }>;

/** Builds the event about a cluster without an upgrade: a ManagedCluster has no status of ours. */
export function refusalEvent(cluster: ManagedCluster, plan: Refusal): EventToRecord {
  return {
    // Most waits last for seconds.
    type: plan.kind === 'wait' ? 'Normal' : 'Warning',
    reason: 'CguNotCreated',
    action: 'CreatingUpgrade',
    note: `No ClusterGroupUpgrade is created for ${cluster.metadata.name}: ${whyNot(plan)}`,
    regarding: eventSubject(ManagedCluster, cluster),
  };
}

function whyNot(plan: Refusal): string {
  if (plan.kind === 'refuse')
    return `annotation ${Annotation.deployWave} of policy ${plan.policy} is ${JSON.stringify(plan.wave)}: set it to a whole number on the parent policy`;
  const { policy, says, fix } = plan.for;
  return `waits for policy ${policy}: ${says}${fix === undefined ? '' : `: ${fix}`}`;
}
