/** The approval of an InstallPlan as an action carries it out, and when one that failed is made anew (spec/ocm 1.3, 1.6). Pure. */
import { Annotation, type KubeObject } from '@flotilla/api';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import { type ActionOutcome, endedAt, observeOutcome } from '../transport/action-outcome.ts';
import { actionLabels, type UpgradeIdentity } from '../upgrade/identity.ts';
import type { InstallPlan } from './answers.ts';

/** Annotation of an action: uid of the view whose answer it was made from, for later steps that do not read its template. */
export const VIEW_ANNOTATION = 'flotilla.io/view';

/** An action that was made to approve an InstallPlan. */
interface Attempt extends Pick<ActionOutcome, 'outcome' | 'retries'> {
  /** uid of the view whose answer it was made from; an answer of that view says nothing about what the action did. */
  readonly view: string | undefined;
  /** Milliseconds since the epoch from which on it may be made anew. */
  readonly retryAt: number;
}

/** The agent executes a failing action a second time at once, so the first retry leaves it time to. */
const BACK_OFF = { baseMs: 2_000, maxMs: 60_000, floor: 1 };

/** Reads an attempt from its action. @param now milliseconds since the epoch */
export function observeAttempt(action: ManagedClusterAction, now: number): Attempt {
  const observed = observeOutcome(action);
  const { outcome, retries } = observed;
  const ended = endedAt(observed, now);
  return {
    outcome,
    retries,
    view: action.metadata.annotations?.[VIEW_ANNOTATION],
    // Two clocks may differ by seconds; further ahead it is ours that stepped back, and nothing waits for as long as it stepped.
    retryAt: ended - now > BACK_OFF.maxMs ? now : ended + backOffMs(BACK_OFF, retries + 1),
  };
}

/** The action that approves an InstallPlan as it was seen; refused by the spoke's API server when the plan has changed since. */
export function approvalAction(input: {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly plan: InstallPlan;
  /** uid of the view that showed the plan. */
  readonly view: string;
  readonly retries: number;
}): KubeObject {
  const { upgrade, cluster, plan, view, retries } = input;
  const { name, namespace } = plan.metadata;
  return {
    apiVersion: ManagedClusterAction.apiVersion,
    kind: ManagedClusterAction.kind,
    metadata: {
      name,
      namespace: cluster,
      labels: actionLabels(upgrade),
      annotations: { [VIEW_ANNOTATION]: view, ...(retries > 0 && { [Annotation.retries]: String(retries) }) },
    },
    spec: { actionType: 'Update', kube: { resource: 'installplan', namespace, template: approvedPlan(plan) } },
  };
}

/**
 * The InstallPlan, approved. An update removes what it does not name: where the reference's template, which names only what is
 * approved, would take the plan's labels, owners and annotations away, they are named too.
 */
function approvedPlan({ apiVersion, kind, metadata, spec }: InstallPlan): KubeObject {
  const { name, namespace: _, resourceVersion, ...kept } = metadata;
  const present = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined && value !== null));
  return {
    apiVersion,
    kind,
    metadata: { name, resourceVersion, ...present },
    spec: { ...spec, approval: 'Manual', approved: true, clusterServiceVersionNames: spec.clusterServiceVersionNames ?? [] },
  };
}
