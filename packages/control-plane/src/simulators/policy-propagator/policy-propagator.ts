import { type KubeObject, refKey } from '@flotilla/api';
import type { PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { type Client, type Clock, createLogger, type Logger, startController, systemClock, WorkQueue } from '@flotilla/runtime';
import { createHubWriter } from '../hub-writer.ts';
import { reconcilePlacement, selectionFields } from './placement-controller.ts';
import type { SetBinding } from './placement-selection.ts';
import { reconcilePolicy } from './policy-controller.ts';
import { type Action, keyOfChild } from './policy-replication.ts';
import { BY_PLACEMENT, createPropagatorCaches, type PropagatorCaches, placementOfDecision, policiesOf } from './propagator-caches.ts';
import type { ComplianceState } from './root-status.ts';
import { type ComplianceEvent, type ComplianceScript, SimulatedCompliance } from './simulated-compliance.ts';
import { childStatusKey, reconcileChildStatus, reconcileRootStatus } from './status-controller.ts';

/** What a propagator is made of. Policies are named `namespace/name` everywhere. */
export interface PolicyPropagatorOptions {
  /** Of the hub. Stays the caller's: close it after `stop`. */
  readonly client: Client;
  /** The same seed gives the same times. */
  readonly seed: number;
  /** Seconds from enforced to Compliant, and the part of them that varies: 0.2 is plus or minus 20 %. */
  readonly compliance: { readonly seconds: number; readonly jitter: number };
  /** Keep a copy of each policy in the namespace of each of its clusters; default true. Without, only root policies have a status. */
  readonly children?: boolean;
  /** Write what clusters report into the copies too; default: as `children`. */
  readonly childStatus?: boolean;
  /** Milliseconds for which changes of a root policy's status are gathered; default 200. */
  readonly rollUpMs?: number;
  /** Namespaces without a binding of a cluster set: their Placements select nothing. Default: none. */
  readonly unboundNamespaces?: readonly string[];
  /** By policy and cluster. */
  readonly scripts?: Readonly<Record<string, Readonly<Record<string, ComplianceScript>>>>;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** A running propagator. */
export interface PolicyPropagator extends AsyncDisposable {
  /** What was enforced and reported, in order. */
  readonly events: readonly ComplianceEvent[];
  /** From now on the cluster answers to the policy like this. */
  script(policy: string, cluster: string, script: ComplianceScript): void;
  /** Has the cluster report this now; throws a RangeError when the policy is not on it. */
  report(policy: string, cluster: string, state: ComplianceState): void;
  /** Undefined: nothing reported, or the policy is not on the cluster. */
  state(policy: string, cluster: string): ComplianceState | undefined;
  /** Gives the namespace a binding of the set of all clusters or of an empty one, or takes it away. */
  setBound(namespace: string, bound: SetBinding): void;
  stop(): Promise<void>;
}

/** A moment for what changes together: 500 copies are 500 events. */
const GATHER_MS = 50;

/**
 * Plays the hub's placement controller, its policy propagator and the clusters' policy engines (spec/ocm 2.4, 3.2, 3.3, 3.5).
 * Resolves when it watches. Throws when the kinds are not installed.
 */
export async function startPolicyPropagator(options: PolicyPropagatorOptions): Promise<PolicyPropagator> {
  const { client, clock = systemClock, children = true, childStatus = children, rollUpMs = 200 } = options;
  const logger = options.logger ?? createLogger({ name: 'policy-propagator', level: 'silent' });
  const caches = createPropagatorCaches(client, { children, logger, clock });
  const queues = createQueues(clock);
  const bindings = new Map<string, SetBinding>((options.unboundNamespaces ?? []).map((namespace) => [namespace, false]));
  const compliance = new SimulatedCompliance({
    clock,
    seed: options.seed,
    compliance: options.compliance,
    onChange(policy, cluster) {
      queues.rootStatus.addAfter(policy, rollUpMs);
      if (childStatus) queues.childStatus.add(childStatusKey(policy, cluster));
    },
  });
  for (const [policy, clusters] of Object.entries(options.scripts ?? {}))
    for (const [cluster, script] of Object.entries(clusters)) compliance.script(policy, cluster, script);

  const now = () => clock.now();
  const deps = { client, caches, writer: createHubWriter(client), compliance, placed: new Map<string, ReadonlyMap<string, Action>>(), now };
  const boundTo = (namespace: string) => bindings.get(namespace) ?? true;
  const stopping = new AbortController();
  subscribe(caches, queues, childStatus);
  // A roll-up that was compared with a status the cache did not have yet is compared again.
  caches.roots.subscribe(({ object }) => queues.rootStatus.addAfter(refKey(object.metadata), rollUpMs));
  const watches = Object.values(caches).filter((cache) => cache !== undefined);
  for (const cache of watches) cache.start(stopping.signal);
  await Promise.all(watches.map((cache) => cache.synced()));

  const run = (queue: WorkQueue, reconcile: Parameters<typeof startController>[0]['reconcile']) =>
    startController({ name: queue.name, queue, reconcile, logger, signal: stopping.signal });
  const controllers = [
    run(queues.placement, (key) => reconcilePlacement(key, { client, caches, now, boundTo })),
    run(queues.policy, async (key) => {
      const result = await reconcilePolicy(key, deps);
      queues.rootStatus.addAfter(key, rollUpMs);
      return result;
    }),
    run(queues.rootStatus, (key) => reconcileRootStatus(key, deps)),
    run(queues.childStatus, (key) => reconcileChildStatus(key, deps)),
  ];
  const stop = async (): Promise<void> => {
    stopping.abort();
    compliance.stop();
    await Promise.all([...controllers.map(({ stopped }) => stopped), ...watches.map((cache) => cache.stopped())]);
  };
  return {
    events: compliance.events,
    script: (policy, cluster, script) => compliance.script(policy, cluster, script),
    report: (policy, cluster, state) => compliance.set(policy, cluster, state),
    state: (policy, cluster) => compliance.state(policy, cluster),
    setBound(namespace, bound) {
      bindings.set(namespace, bound);
      for (const { metadata } of caches.placements.list()) if (metadata.namespace === namespace) queues.placement.add(refKey(metadata));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const createQueues = (clock: Clock) => ({
  placement: new WorkQueue({ name: 'placement', concurrency: 8, clock }),
  policy: new WorkQueue({ name: 'policy', concurrency: 4, clock }),
  rootStatus: new WorkQueue({ name: 'root-status', concurrency: 4, clock }),
  childStatus: new WorkQueue({ name: 'child-status', concurrency: 24, clock }),
});

/** Which keys a change concerns. */
function subscribe(caches: PropagatorCaches, queues: ReturnType<typeof createQueues>, childStatus: boolean): void {
  const lookAtPolicies = (bindings: readonly PlacementBinding[]) => {
    for (const key of bindings.flatMap(policiesOf)) queues.policy.addAfter(key, GATHER_MS);
  };
  const lookAtPlacements = () => {
    for (const { metadata } of caches.placements.list()) queues.placement.addAfter(refKey(metadata), GATHER_MS);
  };
  caches.clusters.subscribe(({ type, object, previous }) => {
    if (type === 'deleted' || !previous || selectionFields(previous) !== selectionFields(object)) lookAtPlacements();
  });
  caches.placements.subscribe(({ object }) => queues.placement.add(refKey(object.metadata)));
  caches.decisions.subscribe(({ object }: { object: PlacementDecision }) => {
    for (const key of placementOfDecision(object)) {
      queues.placement.addAfter(key, GATHER_MS);
      lookAtPolicies(caches.bindings.byIndex(BY_PLACEMENT, key));
    }
  });
  caches.bindings.subscribe(({ object, previous }) => lookAtPolicies(previous ? [object, previous] : [object]));
  caches.roots.subscribe(({ type, object, previous }) => {
    // Its own status is written here.
    if (type === 'set' && previous && isSameButStatus(previous, object)) return;
    queues.policy.add(refKey(object.metadata));
  });
  caches.children?.subscribe(({ type, object, previous }) => {
    const isSame = type === 'set' && previous?.spec?.fingerprint === object.spec?.fingerprint;
    if (!isSame) queues.policy.addAfter(keyOfChild(object), GATHER_MS);
    if (childStatus && type === 'set') queues.childStatus.add(childStatusKey(keyOfChild(object), object.metadata.namespace ?? ''));
  });
}

function isSameButStatus(a: KubeObject, b: KubeObject): boolean {
  const { labels, annotations, generation, deletionTimestamp, uid } = a.metadata;
  const other = b.metadata;
  return (
    generation === other.generation &&
    uid === other.uid &&
    deletionTimestamp === other.deletionTimestamp &&
    JSON.stringify([labels, annotations]) === JSON.stringify([other.labels, other.annotations])
  );
}
