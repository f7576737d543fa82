import type { WorkCadence } from '@flotilla/agent';
import { findCondition } from '@flotilla/api';
import { ACTION_COMPLETED, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { type Client, type Clock, isNotFound, type Logger, type ServedResource, systemClock, WatchCache } from '@flotilla/runtime';
import { createHubWriter, type HubWriter } from '../hub-writer.ts';
import { createTimerHeap, type TimerHeap } from '../timer-heap.ts';
import type { JobShape, SpokeFaults, WorkShape } from './faults.ts';
import { leanAction, leanView, leanWork } from './lean-objects.ts';
import { BUILT_IN_KINDS, OPENSHIFT_KINDS } from './served-kinds.ts';
import { isLostRace, type JobCreation, SimulatedSpoke, type SpokeEvent } from './simulated-spoke.ts';
import type { SpokeServer } from './spoke-server.ts';
import type { SpokeStore } from './spoke-store.ts';
import type { SpokeSurroundings } from './surroundings.ts';

/** Options of a run of simulated spokes. */
export interface SimulatedSpokesOptions {
  /** Client of the hub. It stays the caller's: close it after `stop`. */
  readonly client: Client;
  /** Spokes, each watching the hub namespace of its name. */
  readonly names: readonly string[];
  /** The same seed gives the same run times and uids. */
  readonly seed: number;
  readonly job: JobShape;
  /** Statuses that objects take; default: after one second. */
  readonly work?: WorkShape;
  /** Pace at which works are looked at; default: the agent's. */
  readonly workCadence?: WorkCadence;
  /** True when agents know `feedbackScrapeType: Watch`, as the stock one does in its later releases; default true. */
  readonly workWatches?: boolean;
  /** Agents make the account of Job `pre-cache`, as ours with our chart do; default false, as stock ones. */
  readonly makesPullerAccount?: boolean;
  /** By the name of the spoke. */
  readonly faults?: Readonly<Record<string, SpokeFaults>>;
  /** API servers that spokes have beside their stores, by the name of the spoke. */
  readonly servers?: Readonly<Record<string, SpokeServer>>;
  /** Milliseconds every action and read takes on a spoke; default 5. */
  readonly executeLatencyMs?: number;
  /** Milliseconds a namespace takes to go with all it holds; default 2 000. */
  readonly namespaceDeletionMs?: number;
  /** Play the hub's garbage collector too: delete an action so long after its verdict (60 000 on RHACM). Default: never. */
  readonly collectActionsAfterMs?: number;
  /** Only actions, views and works with these labels are seen. */
  readonly labelSelector?: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** Jobs and events of one spoke. */
export interface SpokeRecord {
  readonly jobsCreated: readonly JobCreation[];
  readonly events: readonly SpokeEvent[];
}

/** A running fleet of simulated spokes. Unknown names throw. */
export interface SimulatedSpokes extends AsyncDisposable {
  readonly names: readonly string[];
  /** Every real creation of a Job in the spoke, in order. */
  jobsCreated(name: string): readonly JobCreation[];
  events(name: string): readonly SpokeEvent[];
  /** Uids of the upgrades for which images are pinned in the spoke. */
  pins(name: string): ReadonlySet<string>;
  /** The spoke's objects, for observers and for other actors on the spoke. */
  store(name: string): SpokeStore;
  /** Cuts the spoke from the hub; Jobs go on. What is asked meanwhile is done at `reconnect`. */
  disconnect(name: string): void;
  reconnect(name: string): void;
  /** The agent starts anew: it looks at every action, view and work again, failed actions run again. */
  restartAgent(name: string): void;
  setFaults(name: string, faults: SpokeFaults): void;
  /** An object of the spoke's own API server came, changed or went, as a watch tells its agent. */
  touch(name: string, served: ServedResource, namespace: string | undefined, object: string): void;
  report(): Record<string, SpokeRecord>;
  /** Ends the watches and timers. */
  stop(): Promise<void>;
}

/** Starts the spokes and resolves when they watch. Their namespaces and ManagedClusters are the caller's business (`registerSpokes`). */
export async function startSimulatedSpokes(options: SimulatedSpokesOptions): Promise<SimulatedSpokes> {
  const run = createRun(options);
  const stopping = new AbortController();
  run.actions.start(stopping.signal);
  run.views.start(stopping.signal);
  run.works.start(stopping.signal);
  await Promise.all([run.actions.synced(), run.views.synced(), run.works.synced()]);
  for (const [name, { faults }] of run.spokes) scheduleOffline(run, name, faults);
  const stop = async (): Promise<void> => {
    stopping.abort();
    run.timers.stop();
    for (const spoke of run.spokes.values()) spoke.stop();
    await Promise.all([run.actions.stopped(), run.views.stopped(), run.works.stopped()]);
  };
  return { ...controls(run), stop, [Symbol.asyncDispose]: stop };
}

interface Run {
  readonly spokes: ReadonlyMap<string, SimulatedSpoke>;
  readonly actions: WatchCache<ManagedClusterAction>;
  readonly views: WatchCache<ManagedClusterView>;
  readonly works: WatchCache<ManifestWork>;
  readonly timers: TimerHeap;
}

function createRun(options: SimulatedSpokesOptions): Run {
  const { client, labelSelector, logger, clock = systemClock } = options;
  const timers = createTimerHeap(clock);
  const writer = createHubWriter(client);
  const actions = new WatchCache(client, ManagedClusterAction, { labelSelector, logger, clock, transform: leanAction });
  const views = new WatchCache(client, ManagedClusterView, { labelSelector, logger, clock, transform: leanView });
  // A hub may be without this kind.
  const works = new WatchCache(client, ManifestWork, { labelSelector, logger, clock, transform: leanWork, optional: true });
  const around: SpokeSurroundings = {
    timers,
    writer,
    seed: options.seed,
    kinds: [...BUILT_IN_KINDS, ...OPENSHIFT_KINDS],
    job: options.job,
    work: options.work ?? { seconds: 1, jitter: 0 },
    workCadence: options.workCadence,
    workWatches: options.workWatches,
    pullerRole: options.makesPullerAccount ? 'puller' : undefined,
    executeLatencyMs: options.executeLatencyMs ?? 5,
    namespaceDeletionMs: options.namespaceDeletionMs ?? 2000,
    getAction: (namespace, name) => actions.get({ namespace, name }),
    getView: (namespace, name) => views.get({ namespace, name }),
    getWork: (namespace, name) => works.get({ namespace, name }),
    onError: (err, spoke) => logger?.[isLostRace(err) ? 'debug' : 'warn']({ spoke, err }, 'Simulated spoke starts over'),
  };
  const spokes = new Map(
    options.names.map((name) => [
      name,
      new SimulatedSpoke(name, { faults: options.faults?.[name], server: options.servers?.[name] }, around),
    ]),
  );
  actions.subscribe(({ object }) => spokes.get(object.metadata.namespace ?? '')?.wakeAction(object.metadata.name));
  views.subscribe(({ object }) => spokes.get(object.metadata.namespace ?? '')?.wakeView(object.metadata.name));
  works.subscribe(({ object }) => spokes.get(object.metadata.namespace ?? '')?.wakeWork(object.metadata.name));
  if (options.collectActionsAfterMs !== undefined) collectActions(actions, timers, writer, options.collectActionsAfterMs);
  return { spokes, actions, views, works, timers };
}

function controls({ spokes, actions, views, works }: Run): Omit<SimulatedSpokes, 'stop' | typeof Symbol.asyncDispose> {
  const spoke = (name: string): SimulatedSpoke => {
    const found = spokes.get(name);
    if (!found) throw new RangeError(`no simulated spoke ${JSON.stringify(name)}: it is not among the names given at the start`);
    return found;
  };
  return {
    names: [...spokes.keys()],
    jobsCreated: (name) => spoke(name).jobs,
    events: (name) => spoke(name).events,
    pins: (name) => spoke(name).pins,
    store: (name) => spoke(name).store,
    disconnect: (name) => spoke(name).disconnect(),
    reconnect: (name) => spoke(name).reconnect(),
    restartAgent(name) {
      for (const { metadata } of actions.list()) if (metadata.namespace === name) spoke(name).wakeAction(metadata.name);
      for (const { metadata } of views.list()) if (metadata.namespace === name) spoke(name).wakeView(metadata.name);
      spoke(name).restart();
      for (const { metadata } of works.list()) if (metadata.namespace === name) spoke(name).wakeWork(metadata.name);
    },
    setFaults(name, faults) {
      spoke(name).faults = faults;
    },
    touch: (name, ...what) => spoke(name).touch(...what),
    report: () => Object.fromEntries([...spokes].map(([name, { jobs, events }]) => [name, { jobsCreated: jobs, events }])),
  };
}

function scheduleOffline(run: Run, name: string, { offline }: SpokeFaults): void {
  const spoke = run.spokes.get(name);
  if (!offline || !spoke) return;
  if (offline.fromMs <= 0) spoke.disconnect();
  else run.timers.after(offline.fromMs, () => spoke.disconnect());
  if (offline.untilMs !== undefined) run.timers.after(offline.untilMs, () => spoke.reconnect());
}

/** The stock hub deletes an action 60 s after its condition last flipped, True and False alike, and never one without (spec/ocm 1.7). */
function collectActions(actions: WatchCache<ManagedClusterAction>, timers: TimerHeap, writer: HubWriter, afterMs: number): void {
  const scheduled = new Set<string>();
  actions.subscribe(({ object }) => {
    const { uid = '' } = object.metadata;
    const condition = findCondition(object.status?.conditions, ACTION_COMPLETED);
    if (!condition || scheduled.has(uid)) return;
    scheduled.add(uid);
    timers.after(Date.parse(condition.lastTransitionTime) + afterMs - timers.now(), () => {
      scheduled.delete(uid);
      const { namespace, name } = object.metadata;
      writer.delete(ManagedClusterAction, { namespace, name }, { uid }).catch((error: unknown) => {
        if (!isNotFound(error)) scheduled.delete(uid);
      });
    });
  });
}
