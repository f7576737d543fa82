import { type Json, objectAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { leaveWorkloadSpec } from './leftovers.ts';
import { merged } from './merged.ts';
import { mergePodTemplate } from './pod-template.ts';
import { injectProxy } from './proxy.ts';
import { judgeRollout, numberAt } from './rollout.ts';

/** DaemonSets (spec/cvo 3.6, 3.8); how they are updated is left as it is. */
export const daemonSet: Builder = merged(
  (live, built) => {
    const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
    return { spec: { ...before, selector: next.selector, template: mergePodTemplate(before.template, next.template) } };
  },
  { build: injectProxy, judge: judgeRollout('daemonset', { remaining }) },
  { spec: leaveWorkloadSpec },
);

function remaining(live: Json): string | undefined {
  const status = objectAt(live.status);
  const all = numberAt(status.desiredNumberScheduled);
  const updated = numberAt(status.updatedNumberScheduled);
  const available = numberAt(status.numberAvailable);
  // pods of such a set are replaced by hand
  const isByHand = objectAt(objectAt(live.spec).updateStrategy).type === 'OnDelete';
  if (!isByHand && updated < all) return `${updated} of ${all} nodes are updated`;
  return available < all ? `it is available on ${available} of ${all} nodes` : undefined;
}
