import { isSameJson, type KubeObject, refKey } from '@flotilla/api';
import {
  type Client,
  type Clock,
  createChannel,
  createLogger,
  type Logger,
  logOnly,
  type ReconcilerOptions,
  startReconciler,
  systemClock,
  type Watch,
  watch,
} from '@flotilla/runtime';
import { createHubWriter } from '../hub-writer.ts';
import { reconcilePlacement, selectionFields } from './placement-controller.ts';
import type { SetBinding } from './placement-selection.ts';
import { reconcilePolicy } from './policy-controller.ts';
import { type Action, keyOfChild } from './policy-replication.ts';
import { BY_PLACEMENT, createPropagatorCaches, type PropagatorCaches, placementOfDecision, policiesOf } from './propagator-caches.ts';
import { type ComplianceEvent, type ComplianceScript, type ComplianceState, SimulatedCompliance } from './simulated-compliance.ts';
import { childStatusKey, reconcileChildStatus, reconcileRootStatus } from './status-controller.ts';

/** Options of a propagator. Policies are named `namespace/name` everywhere. */
export interface PolicyPropagatorOptions {
  /** Client of the hub. It stays the caller's: close it after `stop`. */
  readonly client: Client;
  /** The same seed gives the same times. */
  readonly seed: number;
  /** Seconds from enforced to Compliant, and the part of them that varies: 0.2 is plus or minus 20 %. */
  readonly compliance: { readonly seconds: number; readonly jitter: number };
  /** Milliseconds for which changes of a root policy's status are gathered; default 200. */
  readonly rollUpMs?: number;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** A running propagator. */
export interface PolicyPropagator extends AsyncDisposable {
  /** Enforcements and reports, in order. */
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
  const { client, clock = systemClock, rollUpMs = 200 } = options;
  const logger = options.logger ?? createLogger({ name: 'policy-propagator', level: 'silent' });
  const caches = createPropagatorCaches(client, { logger, clock });
  const [placementLooks, rootLooks, childLooks] = [createChannel(), createChannel(), createChannel()];
  const bindings = new Map<string, SetBinding>();
  const compliance = new SimulatedCompliance({
    clock,
    seed: options.seed,
    compliance: options.compliance,
    onChange(policy, cluster) {
      rootLooks.enqueue(policy, rollUpMs);
      childLooks.enqueue(childStatusKey(policy, cluster));
    },
  });

  const now = () => clock.now();
  const deps = { client, caches, writer: createHubWriter(client), compliance, placed: new Map<string, ReadonlyMap<string, Action>>(), now };
  const boundTo = (namespace: string) => bindings.get(namespace) ?? true;
  const stopping = new AbortController();
  const watches = Object.values(caches);
  for (const cache of watches) cache.start(stopping.signal);
  await Promise.all(watches.map((cache) => cache.synced()));

  const run = (reconciler: Pick<ReconcilerOptions, 'name' | 'for' | 'watches' | 'concurrency' | 'reconcile'>) =>
    startReconciler({ onTrouble: logOnly, ...reconciler, logger, clock, signal: stopping.signal });
  const reconcilers = [
    run({
      name: 'placement',
      for: watch(caches.placements),
      watches: [placementLooks, ...placementWatches(caches)],
      concurrency: 8,
      reconcile: (key) => reconcilePlacement(key, { client, caches, now, boundTo }),
    }),
    run({
      name: 'policy',
      // Its own status is written here.
      for: watch(caches.roots, { select: ({ object, previous }) => !previous || !isSameButStatus(previous, object) }),
      watches: policyWatches(caches),
      concurrency: 4,
      async reconcile(key) {
        const result = await reconcilePolicy(key, deps);
        rootLooks.enqueue(key, rollUpMs);
        return result;
      },
    }),
    run({
      name: 'root-status',
      // A roll-up that was compared with a status the cache did not have yet is compared again.
      for: watch(caches.roots, { gatherMs: rollUpMs }),
      watches: [rootLooks],
      concurrency: 4,
      reconcile: (key) => reconcileRootStatus(key, deps),
    }),
    run({
      name: 'child-status',
      watches: [childLooks, childStatusWatch(caches)],
      concurrency: 24,
      reconcile: (key) => reconcileChildStatus(key, deps),
    }),
  ];
  const stop = async (): Promise<void> => {
    stopping.abort();
    compliance.stop();
    await Promise.all([...reconcilers.map(({ stopped }) => stopped), ...watches.map((cache) => cache.stopped())]);
  };
  return {
    events: compliance.events,
    script: (policy, cluster, script) => compliance.script(policy, cluster, script),
    report: (policy, cluster, state) => compliance.set(policy, cluster, state),
    state: (policy, cluster) => compliance.state(policy, cluster),
    setBound(namespace, bound) {
      bindings.set(namespace, bound);
      for (const { metadata } of caches.placements.list()) if (metadata.namespace === namespace) placementLooks.enqueue(refKey(metadata));
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Watches that concern a Placement, beside the one of Placements. */
const placementWatches = ({ clusters, placements, decisions }: PropagatorCaches): Watch[] => [
  watch(clusters, {
    select: ({ type, object, previous }) => type === 'deleted' || !previous || selectionFields(previous) !== selectionFields(object),
    enqueue: () => placements.list(),
    gatherMs: GATHER_MS,
  }),
  watch(decisions, { enqueue: ({ object }) => placementOfDecision(object), gatherMs: GATHER_MS }),
];

/** Watches that concern a root policy, beside the one of root policies. */
const policyWatches = ({ decisions, bindings, children }: PropagatorCaches): Watch[] => [
  watch(decisions, {
    enqueue: ({ object }) => placementOfDecision(object).flatMap((key) => bindings.byIndex(BY_PLACEMENT, key).flatMap(policiesOf)),
    gatherMs: GATHER_MS,
  }),
  watch(bindings, {
    enqueue: ({ object, previous }) => (previous ? [object, previous] : [object]).flatMap(policiesOf),
    gatherMs: GATHER_MS,
  }),
  watch(children, {
    select: ({ type, object, previous }) => type === 'deleted' || previous?.spec?.fingerprint !== object.spec?.fingerprint,
    enqueue: ({ object }) => [keyOfChild(object)],
    gatherMs: GATHER_MS,
  }),
];

const childStatusWatch = ({ children }: PropagatorCaches): Watch =>
  watch(children, {
    select: ({ type }) => type === 'set',
    enqueue: ({ object }) => [childStatusKey(keyOfChild(object), object.metadata.namespace ?? '')],
  });

/** A generation counts changes of the spec. */
function isSameButStatus({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean {
  const parts = (each: KubeObject['metadata']) => [each.uid, each.generation, each.deletionTimestamp, each.labels, each.annotations];
  return isSameJson(parts(a), parts(b));
}
