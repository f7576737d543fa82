/** Plays OLM on simulated spokes: operators that are installed, and one upgrade of them that waits for its InstallPlan. */
import { isJsonObject } from '@flotilla/api';
import type { PolicyPropagator, SimulatedSpokes, StoredObject } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';

/** Group and version of OLM's kinds. */
export const GROUP = 'operators.coreos.com/v1alpha1';
/** Namespace of all operators. */
export const NAMESPACE = 'operators';

/** Where operators are played. */
interface OperatorWorld {
  readonly spokes: SimulatedSpokes;
  readonly propagator: PolicyPropagator;
}

/** An upgrade that a policy asks for. */
interface OperatorUpgrade {
  readonly cluster: string;
  /** `namespace/name` */
  readonly policy: string;
  /** Name of the InstallPlan, one for all. */
  readonly plan: string;
  /** Names of Subscriptions. */
  readonly operators: readonly string[];
  /** How long each of the two is waited for: the enforcement, and the approval; default 90 s. */
  readonly timeoutMs?: number;
}

/** A Subscription whose InstallPlans wait for an approval. */
export const subscription = (name: string) => ({
  apiVersion: GROUP,
  kind: 'Subscription',
  metadata: { name, namespace: NAMESPACE },
  spec: { name, channel: 'stable', installPlanApproval: 'Manual' },
});

/** Puts an operator on a cluster that is up to date. */
export function installOperator({ spokes }: OperatorWorld, cluster: string, name: string): void {
  spokes.store(cluster).set({ ...subscription(name), status: { state: 'AtLatestKnown', installedCSV: `${name}.v1` } });
}

/**
 * Once the policy is enforced there is an InstallPlan, for which the Subscriptions wait; when they are up to date the policy is
 * Compliant. Resolves then.
 */
export async function playUpgrade({ spokes, propagator }: OperatorWorld, upgrade: OperatorUpgrade): Promise<void> {
  const { cluster, policy, plan, operators, timeoutMs = 90_000 } = upgrade;
  propagator.script(policy, cluster, { never: true });
  const isEnforced = () => propagator.events.some((each) => each.policy === policy && each.cluster === cluster && each.what === 'enforced');
  await eventually(isEnforced, `${policy} to be enforced on ${cluster}`, timeoutMs);
  const store = spokes.store(cluster);
  store.set({
    apiVersion: GROUP,
    kind: 'InstallPlan',
    metadata: { name: plan, namespace: NAMESPACE, labels: { 'operators.coreos.com/owner': '' } },
    spec: { approval: 'Manual', approved: false, clusterServiceVersionNames: operators.map((name) => `${name}.v2`) },
  });
  for (const name of operators)
    store.set({
      ...subscription(name),
      status: {
        state: 'UpgradePending',
        installedCSV: `${name}.v1`,
        currentCSV: `${name}.v2`,
        installPlanRef: { name: plan, namespace: NAMESPACE },
      },
    });
  const isUpToDate = (name: string) => stateOf(readOperator(spokes, cluster, 'Subscription', name)) === 'AtLatestKnown';
  await eventually(() => operators.every(isUpToDate), `the operators of ${cluster} to be upgraded`, timeoutMs);
  propagator.report(policy, cluster, 'Compliant');
}

/** An object of OLM on a cluster. */
export function readOperator(
  spokes: SimulatedSpokes,
  cluster: string,
  wanted: 'Subscription' | 'InstallPlan',
  name: string,
): StoredObject | undefined {
  const store = spokes.store(cluster);
  const served = store.kinds.find(({ kind }) => kind === wanted);
  return served && store.read(served, NAMESPACE, name);
}

const stateOf = (object: StoredObject | undefined): unknown => (isJsonObject(object?.status) ? object.status.state : undefined);
