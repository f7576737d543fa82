/** The Subscriptions of a policy, and when their InstallPlans are approved on a cluster (spec/talm 2.8, 2.13; spec/ocm 1.12). Pure. */
import { Annotation, isJsonObject, type KubeObject } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, type ViewScope } from '@flotilla/api/ocm';
import { backOffMs } from '@flotilla/pace';
import { isKind, type PolicyObject } from '../policies/policy-structure.ts';
import { type ActionOutcome, endedAt, observeOutcome, readViewAnswer } from '../transport/answers.ts';
import { actionLabels, type UpgradeIdentity, upgradeLabels } from '../upgrade/identity.ts';
import { deletionOf, type HubWrite, type SubscriptionRef } from '../upgrade/model.ts';
import { InstallPlan, Subscription } from './answers.ts';

const GROUP = 'operators.coreos.com';

/** The Subscriptions a policy wants. One whose name or namespace only a cluster can resolve cannot be looked at, and is left out. */
function subscriptionsOf(objects: readonly PolicyObject[]): SubscriptionRef[] {
  return objects.flatMap((object) => {
    const { definition, mustNotHave, raw, ofOperator } = object;
    if (mustNotHave || ofOperator || !isKind(object, GROUP, 'Subscription') || !isJsonObject(definition.metadata)) return [];
    const { name, namespace } = definition.metadata;
    const known = (value: unknown): value is string =>
      typeof value === 'string' && value !== '' && !value.includes('{{') && !(raw && value.includes('placeholder'));
    return known(name) && known(namespace) ? [{ kind: 'Subscription', name, apiVersion: String(definition.apiVersion), namespace }] : [];
  });
}

/** `status.managedPoliciesContent` of one policy: compact JSON, fields in the reference's order; undefined for a policy without any. */
export function policyContent(objects: readonly PolicyObject[]): string | undefined {
  const found = subscriptionsOf(objects);
  return found.length > 0 ? JSON.stringify(found) : undefined;
}

/** Name of a Subscription's view before it is made safe; the same on every cluster. */
export const desiredViewName = ({ namespace, name }: UpgradeIdentity, subscription: SubscriptionRef): string =>
  `${name}-${namespace}-${subscription.kind}-${subscription.name}`.toLowerCase();

/** Desired names of the views of a policy's Subscriptions, in their order. */
export const desiredViewNames = (upgrade: UpgradeIdentity, objects: readonly PolicyObject[]): string[] =>
  viewNames(upgrade, subscriptionsOf(objects));

/** Time, and how the hub was started. */
export interface PlanSettings {
  readonly now: number;
  /** Seconds between an agent's polls of a view. */
  readonly viewSeconds: number;
  /** Decide as the reference does: what the view of a Subscription shows counts for it, whatever it is called there. */
  readonly talmStrict: boolean;
}

/** Facts that decide the approvals of one cluster at one policy. */
interface ApprovalInput extends PlanSettings {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly subscriptions: readonly SubscriptionRef[];
  /** Safe name of a desired one. */
  readonly safeName: (desired: string) => string;
  /** Views and actions of rollouts in the cluster's namespace, whichever upgrade made them. */
  readonly views: readonly ManagedClusterView[];
  readonly actions: readonly ManagedClusterAction[];
  /** The cluster's agent is alive; an action for one that is not would fire whenever it returns. */
  readonly available: boolean;
}

/** Writes to be made now, and the time of the next look even if nothing happens. */
export interface SpokePlan {
  readonly writes: readonly HubWrite[];
  /** Milliseconds since the epoch. */
  readonly wakeAt?: number | undefined;
}

/** A plan that a Subscription waits for. */
interface PlanRef {
  readonly name: string;
  readonly namespace: string;
}

/**
 * From Subscription to approval. A view of each Subscription; where one waits for its InstallPlan, a view of that; where it is manual
 * and not approved, an action made from what was seen. An action that ended in any way makes that view stale: a new one shows
 * whether the plan is approved now, and only when it is not, the action is made anew, after a pause.
 */
export function planApprovals(input: ApprovalInput): SpokePlan {
  const writes: HubWrite[] = [];
  const plans = new Map<string, PlanRef>();
  const names = viewNames(input.upgrade, input.subscriptions);
  for (const [index, subscription] of input.subscriptions.entries()) {
    const name = input.safeName(names[index] ?? '');
    const look = lookAt(input, name, { resource: `${subscription.kind}.${GROUP}`, ...targetOf(subscription) });
    writes.push(...look.writes);
    const plan = look.view && pendingPlan(look.view, subscription, input.talmStrict);
    // Subscriptions of one namespace share their plan. The second of two plans with one name has its turn when the first is done.
    if (plan && !plans.has(plan.name)) plans.set(plan.name, plan);
  }
  let wakeAt: number | undefined;
  for (const plan of plans.values()) {
    const next = planApproval(plan, input);
    writes.push(...next.writes);
    if (next.wakeAt !== undefined) wakeAt = Math.min(wakeAt ?? next.wakeAt, next.wakeAt);
  }
  return { writes, wakeAt };
}

/** Subscriptions of the same name in several namespaces would share the reference's name: all but the first say their namespace. */
function viewNames(upgrade: UpgradeIdentity, subscriptions: readonly SubscriptionRef[]): string[] {
  const firsts = new Map<string, string>();
  return subscriptions.map((subscription) => {
    const desired = desiredViewName(upgrade, subscription);
    const first = firsts.get(desired) ?? subscription.namespace;
    firsts.set(desired, first);
    return first === subscription.namespace ? desired : `${desired}-${subscription.namespace}`;
  });
}

function pendingPlan(view: ManagedClusterView, subscription: SubscriptionRef, talmStrict: boolean): PlanRef | undefined {
  const answer = readViewAnswer(view, Subscription, subscription, { trusted: talmStrict });
  if (answer.kind !== 'found' || answer.object.status?.state !== 'UpgradePending') return undefined;
  const { installPlanRef, installplan } = answer.object.status;
  const name = installPlanRef?.name ?? installplan?.name;
  return name === undefined ? undefined : { name, namespace: installPlanRef?.namespace ?? subscription.namespace };
}

function planApproval(plan: PlanRef, input: ApprovalInput): SpokePlan {
  const { upgrade, cluster, available, now } = input;
  const scope = { resource: 'InstallPlan', ...targetOf(plan) };
  const { view, writes } = lookAt(input, plan.name, scope);
  if (!view) return { writes };
  const answer = readViewAnswer(view, InstallPlan, { kind: 'InstallPlan', ...plan });
  if (answer.kind !== 'found') return { writes: [] };
  const { approval, approved } = answer.object.spec;
  if (approval !== 'Manual' || approved === true) return { writes: [] };

  const action = input.actions.find(({ metadata }) => metadata.name === plan.name);
  const viewUid = view.metadata.uid ?? '';
  const approve = (retries: number): HubWrite => ({
    verb: 'create',
    kind: ManagedClusterAction,
    object: approvalAction({ upgrade, cluster, plan: answer.object, view: viewUid, retries }),
  });
  if (!action) return { writes: available ? [approve(0)] : [] };
  const attempt = observeAttempt(action, now);
  if (attempt.outcome === 'pending') return { writes: [] };
  // It shows the plan as it was before the action: whether it worked is seen by a new one alone.
  if (attempt.view === viewUid) return { writes: [deletionOf(ManagedClusterView, view), createView(input, plan.name, scope)] };
  if (!available) return { writes: [] };
  if (now < attempt.retryAt) return { writes: [], wakeAt: attempt.retryAt };
  return { writes: [deletionOf(ManagedClusterAction, action), approve(attempt.retries + 1)] };
}

const targetOf = ({ name, namespace }: PlanRef): PlanRef => ({ name, namespace });

/** The view of this name when it looks at this object; else what has to be written to have one. */
function lookAt(input: ApprovalInput, name: string, scope: ViewScope): { readonly view?: ManagedClusterView; readonly writes: HubWrite[] } {
  const view = input.views.find(({ metadata }) => metadata.name === name);
  const asked = view?.spec?.scope;
  if (view && asked?.name === scope.name && asked?.namespace === scope.namespace) return { view, writes: [] };
  // A new object, not an edit: an agent goes on to show the old answer for a while (spec/ocm 1.11).
  return { writes: [...(view ? [deletionOf(ManagedClusterView, view)] : []), createView(input, name, scope)] };
}

function createView({ upgrade, cluster, viewSeconds }: ApprovalInput, name: string, target: ViewScope): HubWrite {
  const object: KubeObject = {
    apiVersion: ManagedClusterView.apiVersion,
    kind: ManagedClusterView.kind,
    metadata: { name, namespace: cluster, labels: upgradeLabels(upgrade) },
    spec: { scope: { ...target, updateIntervalSeconds: viewSeconds } },
  };
  return { verb: 'create', kind: ManagedClusterView, object };
}

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
function observeAttempt(action: ManagedClusterAction, now: number): Attempt {
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
function approvalAction(input: {
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
