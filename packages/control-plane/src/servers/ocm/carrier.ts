import { isSameJson, Label, untyped } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import { type Client, createLogger, isNotFound, type Logger, logOnly, startReconciler, WatchCache, watch } from '@flotilla/runtime';
import { carriedStatus, evaluatedObject, PolicyEvent, spokePolicy, templatesOf } from './carried-policy.ts';

const FIELD_MANAGER = 'policy-carrier';
const ConfigurationPolicy = untyped('policy.open-cluster-management.io/v1', 'ConfigurationPolicy', 'configurationpolicies');
const EVENTS_OF = 'policy';

/** Between which clusters policies are carried. */
interface CarrierOptions {
  /** Stay the caller's: close them after `stop`. */
  readonly hub: Client;
  readonly spoke: Client;
  /** Name of the ManagedCluster: namespace of its policies on both sides. */
  readonly cluster: string;
  readonly logger?: Logger;
}

/** A running carrier. */
interface PolicyCarrier extends AsyncDisposable {
  stop(): Promise<void>;
}

interface Deps extends CarrierOptions {
  readonly onHub: WatchCache<Policy>;
  readonly onSpoke: WatchCache<Policy>;
  readonly events: WatchCache<PolicyEvent, typeof EVENTS_OF>;
}

/**
 * Plays the framework addon of one spoke (spec/ocm 3.7): replicated policies to the spoke, their templates made objects there, what the
 * policy controllers report back into the status on both sides. The namespace must exist on both. Resolves when it watches.
 */
export async function startPolicyCarrier(options: CarrierOptions): Promise<PolicyCarrier> {
  const { hub, spoke, cluster: namespace } = options;
  const logger = options.logger ?? createLogger({ name: 'policy-carrier', level: 'silent' });
  const shared = { namespace, logger };
  const onHub = new WatchCache(hub, Policy, { ...shared, labelSelector: Label.rootPolicy });
  const onSpoke = new WatchCache(spoke, Policy, shared);
  const indexes = {
    [EVENTS_OF]: ({ involvedObject }: PolicyEvent) => (involvedObject.kind === Policy.kind ? [involvedObject.name ?? ''] : []),
  };
  const events = new WatchCache(spoke, PolicyEvent, { ...shared, indexes });
  const deps: Deps = { ...options, onHub, onSpoke, events };

  const byName = ({ object }: { object: Policy }) => [object.metadata.name];
  const stopping = new AbortController();
  const watches = [onHub, onSpoke, events];
  for (const cache of watches) cache.start(stopping.signal);
  await Promise.all(watches.map((cache) => cache.synced()));
  const { stopped } = startReconciler({
    onTrouble: logOnly,
    name: 'policy-carrier',
    for: watch(onHub, { enqueue: byName }),
    watches: [
      watch(onSpoke, { enqueue: byName }),
      watch(events, {
        select: ({ object: { involvedObject } }) => involvedObject.kind === Policy.kind,
        enqueue: ({ object: { involvedObject } }) => [involvedObject.name ?? ''],
      }),
    ],
    concurrency: 4,
    backOff: { baseMs: 200, maxMs: 5_000 },
    reconcile: (name) => carry(name, deps),
    logger,
    signal: stopping.signal,
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all([stopped, ...watches.map((cache) => cache.stopped())]);
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

/** Makes one policy of the spoke true, and then its status. */
async function carry(name: string, deps: Deps): Promise<undefined> {
  const { spoke, cluster: namespace, onHub, onSpoke } = deps;
  const ref = { namespace, name };
  const replicated = onHub.get(ref);
  const present = onSpoke.get(ref);
  if (!replicated || replicated.metadata.deletionTimestamp) {
    // Owned objects go with the policy, as the spoke's garbage collector has time for them.
    if (present) await spoke.delete(Policy, ref);
    return;
  }
  const apply = { fieldManager: FIELD_MANAGER, force: true };
  const copy = await spoke.apply(Policy, spokePolicy(replicated), apply);
  const templates = templatesOf(copy);
  for (const template of templates)
    if (template.kind === ConfigurationPolicy.kind) await spoke.apply(ConfigurationPolicy, evaluatedObject(copy, template), apply);
  await removeOthers(copy, new Set(templates.map(({ metadata }) => metadata.name)), deps);
  await report(copy, replicated, deps);
}

/** Removes what former templates of the policy left. */
async function removeOthers({ metadata }: Policy, wanted: ReadonlySet<string>, { spoke, cluster: namespace }: Deps): Promise<void> {
  const labelSelector = `policy.open-cluster-management.io/policy=${metadata.name}`;
  const { items } = await spoke.list(ConfigurationPolicy, { namespace, labelSelector });
  for (const { metadata: other } of items)
    if (!wanted.has(other.name)) await spoke.delete(ConfigurationPolicy, { namespace, name: other.name });
}

/** Writes the status where it differs: on the spoke, and in the hub's copy. */
async function report(copy: Policy, replicated: Policy, { hub, spoke, events }: Deps): Promise<void> {
  const { name, namespace, uid } = copy.metadata;
  // Events of a copy that was there before tell of something else.
  const own = events.byIndex(EVENTS_OF, name).filter(({ involvedObject }) => involvedObject.uid === uid);
  const { compliant, details } = carriedStatus(copy, own);
  for (const [client, { status }] of [
    [spoke, copy],
    [hub, replicated],
  ] as const) {
    const wanted = { compliant: compliant ?? null, details };
    if (isSameJson({ compliant: status?.compliant ?? null, details: status?.details ?? [] }, wanted)) continue;
    const patch = { status: wanted };
    await client.patch(Policy, { namespace, name }, patch, { type: 'merge', subresource: 'status' }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}
