import { type Json, objectAt } from '../json-values.ts';
import type { Builder } from './builder.ts';
import { generic } from './generic.ts';
import { judgeRollout, numberAt, remainingReplicas, wantedReplicas } from './rollout.ts';

/** StatefulSets are applied like any kind without rules of its own, and waited for. */
export const statefulSet: Builder = { ...generic, judge: judgeRollout('statefulset', { remaining }) };

function remaining(live: Json): string | undefined {
  const status = objectAt(live.status);
  const { type, rollingUpdate } = objectAt(objectAt(live.spec).updateStrategy);
  const wanted = wantedReplicas(live);
  // servers of before 1.25 leave out whom they count as available where there is none
  const available = numberAt(status.availableReplicas ?? status.readyReplicas);
  // pods below the partition stay as they are, and all of them where they are replaced by hand
  const replaced = type === 'OnDelete' ? 0 : Math.max(wanted - numberAt(objectAt(rollingUpdate).partition), 0);
  return remainingReplicas({ wanted, replaced, all: numberAt(status.replicas), updated: numberAt(status.updatedReplicas), available });
}
