import {
  AGENT_FIELD_MANAGER,
  createHubLimiter,
  createWorkRecords,
  reconcileAction,
  reconcileView,
  reconcileWork,
  WORK_HUB_BURST,
  WORK_HUB_QPS,
  type WorkCadence,
  type WorkMemory,
  type WorkRecords,
  type WorkSpoke,
  withPullerAccount,
} from '@flotilla/agent';
import { errorMessage, type KubeObject, type Resource } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import {
  Autoscalers,
  type Client,
  type Clock,
  createObjectAccess,
  type Logger,
  logOnly,
  type Metrics,
  pause,
  type ReconcileContext,
  type ReconcileResult,
  RefusedValues,
  refusedText,
  startReconciler,
  systemClock,
  WatchCache,
  watch,
} from '@flotilla/runtime';
import { reportAvailability } from './registration/availability.ts';
import { reportClaims } from './registration/claims.ts';
import { keepLease } from './registration/lease.ts';

interface AgentOptions {
  readonly hub: Client;
  readonly spoke: Client;
  /** Client of the spoke with the rights of works; default `spoke`. */
  readonly workSpoke?: Client;
  readonly clusterName: string;
  /** ClusterRole on the spoke for the puller's account, which the agent then creates; undefined: a job brings its account. */
  readonly pullerRole?: string | undefined;
  readonly registration: boolean;
  /** Cadence of ManifestWorks; undefined: another agent executes them. */
  readonly works: WorkCadence | undefined;
  /** Milliseconds for which objects of a work stay that is missing on the hub. */
  readonly workEvictionGraceMs: number;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
}

interface Agent {
  /** True while actions and views of the hub namespace are watched. */
  isReady(): boolean;
  /** Resolves after the abort, when all work has ended. */
  readonly stopped: Promise<void>;
}

/** Watches the hub namespace and works until the signal aborts. One worker per kind (spec/ocm 1.6). */
export function startAgent(options: AgentOptions, signal: AbortSignal): Agent {
  const { hub, spoke: spokeClient, clusterName, pullerRole, logger, clock = systemClock } = options;
  const accessBy = (client: Client) => withPullerAccount(createObjectAccess(client, AGENT_FIELD_MANAGER), pullerRole);
  const spoke = accessBy(spokeClient);
  const limit = createHubLimiter(clock);
  // Without a part of it the result would be another object.
  const refused = refusedValues(options, ['status.result']);
  const actions = startKind(options, signal, ManagedClusterAction, (name, get, context) =>
    reconcileAction(name, { hub, spoke, clock, limit, refused, get }, context),
  );
  const views = startKind(options, signal, ManagedClusterView, (name, get, context) =>
    reconcileView(name, { hub, spoke, clock, limit, get }, context),
  );
  const works =
    options.works &&
    startWorks(
      { ...options, works: options.works },
      // Records are the agent's own: what works may do reaches no further than their objects.
      { objects: accessBy(options.workSpoke ?? spokeClient), records: createWorkRecords(spokeClient, hub.server) },
      signal,
    );
  const registration = options.registration
    ? [
        keepLease({ hub, clusterName, clock, logger: logger.child({ controller: 'lease' }) }, signal),
        reportClaims(
          {
            hub,
            spoke: spokeClient,
            makesPullerAccount: pullerRole !== undefined,
            workSpoke: options.works && (options.workSpoke ?? spokeClient),
            clusterName,
            clock,
            logger: logger.child({ controller: 'claims' }),
          },
          signal,
        ),
        reportAvailability({ hub, spoke: spokeClient, clusterName, clock, logger: logger.child({ controller: 'availability' }) }, signal),
      ]
    : [];
  return {
    // Works do not count: on a hub that denies them to the agent, the rest goes on.
    isReady: () => actions.hasSynced && views.hasSynced,
    stopped: Promise.all([actions.stopped, views.stopped, works?.stopped, ...registration]).then(() => undefined),
  };
}

/** Gives works their own limit of hub writes, as stock agents do, so that views do not delay them (spec/ocm 4.3). */
function startWorks(options: AgentOptions & { readonly works: WorkCadence }, access: WorkSpoke, signal: AbortSignal) {
  const { hub, clusterName, works: cadence, workEvictionGraceMs: evictionGraceMs, logger, metrics, clock = systemClock } = options;
  const autoscalers = new Autoscalers(options.spoke, { logger, metrics, clock });
  autoscalers.start(signal);
  const spoke = { ...access, autoscalers };
  const limit = createHubLimiter(clock, WORK_HUB_QPS, WORK_HUB_BURST);
  const memories = new Map<string, WorkMemory>();
  // Without its text a value would be another one.
  const refused = refusedValues(options, ['status.resourceStatus.manifests[].statusFeedback.values[]']);
  const deps = { hub, spoke, clock, limit, cadence, memories, refused, random: Math.random, clusterName, evictionGraceMs };
  const works = startKind(options, signal, ManifestWork, (name, get, context) => reconcileWork(name, { ...deps, get }, context), {
    optional: true,
  });
  const recorded = enqueueRecorded({ records: spoke.records, enqueue: (name) => works.enqueue(name), clock, logger }, signal);
  return { stopped: Promise.all([works.stopped, recorded]).then(() => autoscalers.stopped()) };
}

const LOOK_EVERY_MS = 600_000;
const RETRY_MS = 10_000;

interface RecordedDeps {
  readonly records: Pick<WorkRecords, 'works'>;
  readonly enqueue: (work: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Enqueues works with a record, because one that went while the agent was away causes no event. */
async function enqueueRecorded({ records, enqueue, clock, logger }: RecordedDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    let waitMs = LOOK_EVERY_MS;
    try {
      for (const work of await records.works()) enqueue(work);
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'Listing the records of works failed');
      waitMs = RETRY_MS;
    }
    await pause(clock, waitMs, signal);
  }
}

const refusedValues = ({ logger, clock = systemClock }: Pick<AgentOptions, 'logger' | 'clock'>, whole: readonly string[]): RefusedValues =>
  new RefusedValues({
    whole,
    clock,
    tell: (value) => logger.warn({ reason: refusedText(value) }, 'Leaving a value out of a status'),
  });

type ReconcileKind<T> = (name: string, get: (name: string) => T | undefined, context: ReconcileContext) => Promise<ReconcileResult>;

/** Retries quickly after a lost write race, as the stock agent does. */
const BACK_OFF = { baseMs: 20, maxMs: 60_000 };

function startKind<T extends KubeObject>(
  options: AgentOptions,
  signal: AbortSignal,
  kind: Resource<T>,
  reconcile: ReconcileKind<T>,
  { optional = false } = {},
) {
  const { hub, clusterName: namespace, logger, metrics, clock } = options;
  const cache = new WatchCache(hub, kind, { namespace, optional, logger, metrics, clock });
  const get = (name: string): T | undefined => cache.get({ namespace, name });
  return startReconciler({
    name: kind.plural,
    for: watch(cache, { enqueue: ({ object }) => [object.metadata.name] }),
    backOff: BACK_OFF,
    logger,
    signal,
    metrics,
    clock,
    reconcile: (name, context) => reconcile(name, get, context),
    // The object's status reports the error.
    onTrouble: logOnly,
  });
}
