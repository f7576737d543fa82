import { UpdateError } from '../graph/update-error.ts';
import { type Builder, type Judging, type ObjectVerdict, ready } from './builder.ts';
import { leaveWorkloadSpec } from './leftovers.ts';
import { merged } from './merged.ts';
import { mergePodTemplate } from './pod-template.ts';
import { injectProxy } from './proxy.ts';
import { isBehind, numberAt, rollingOut, workloadId } from './rollout.ts';
import { type Json, objectAt } from './values.ts';

/** DaemonSets (spec/cvo 3.6, 3.8); how they are updated is left as it is. */
export const daemonSet: Builder = merged(
  (live, built) => {
    const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
    return { spec: { ...before, selector: next.selector, template: mergePodTemplate(before.template, next.template) } };
  },
  { build: injectProxy, judge },
  { spec: leaveWorkloadSpec },
);

function judge(live: Json, { state }: Judging): ObjectVerdict {
  if (state === 'Initializing') return ready;
  const id = workloadId(live);
  if (objectAt(live.metadata).deletionTimestamp)
    return {
      is: 'failed',
      error: new UpdateError({ reason: 'WorkloadNotAvailable', message: `daemonset ${id} is being deleted`, names: [id] }),
    };
  if (numberAt(objectAt(live.metadata).generation) <= 1) return ready;
  if (isBehind(live)) return rollingOut('daemonset', id, 'the change has not been seen yet');
  const status = objectAt(live.status);
  const [all, updated, unavailable] = [status.desiredNumberScheduled, status.updatedNumberScheduled, status.numberUnavailable].map(
    numberAt,
  );
  // pods of such a set are replaced by hand
  const isByHand = objectAt(objectAt(live.spec).updateStrategy).type === 'OnDelete';
  if (!isByHand && updated !== all) return rollingOut('daemonset', id, `${updated} of ${all} nodes are updated`);
  return unavailable === 0 ? ready : rollingOut('daemonset', id, `it is not available on ${unavailable} of ${all} nodes`);
}
