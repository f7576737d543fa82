import { isSameJson } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, type ClusterVersion } from '@flotilla/api/config';
import type { Prometheus } from '@flotilla/http';
import {
  afterAttempt,
  type KnownUpdates,
  PromqlAnswers,
  type Retrieval,
  refuseQuery,
  retrievalDueMs,
  retrievalKey,
  storedRetrieval,
  validateClusterVersion,
  withoutInvalid,
} from '@flotilla/release';
import {
  type Clock,
  createChannel,
  type Logger,
  type Metrics,
  type Reconciler,
  type ReconcilerOptions,
  startReconciler,
  type Watch,
  type WatchCache,
  watch,
} from '@flotilla/runtime';
import { askGraphService, type GraphServiceOptions } from './graph-service.ts';
import { isMigration, knownUpdates, queryOf, type RunningRelease, type UpdateSettings } from './known-updates.ts';
import { askAlerts, askPrometheus, KnownAlerts } from './prometheus.ts';

/** Dependencies of looking for updates. */
export interface UpdatesDeps {
  readonly versions: WatchCache<ClusterVersion>;
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  /** Further watches whose changes concern updates: a proxy, an authority. */
  readonly watches?: readonly Watch[];
  /** The running release; undefined before one is. */
  readonly running: () => RunningRelease | undefined;
  /** Feature gates of the running release. Default none. */
  readonly featureGates?: () => ReadonlySet<string>;
  readonly settings: UpdateSettings;
  readonly service: GraphServiceOptions;
  readonly monitoring: Prometheus;
  /** True when alerts are asked for, too. Default no. */
  readonly asksAlerts?: () => boolean;
  /** Between two questions to the service, milliseconds. */
  readonly everyMs: number;
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
}

/** Known updates. They are found apart from the worker, so that a slow service holds nothing up. */
export interface Updates extends Pick<Reconciler, 'stopped'> {
  readonly known: () => KnownUpdates | undefined;
  /** Last good answer, or when what is asked for changed, milliseconds since the epoch. */
  readonly freshAtMs: () => number | undefined;
}

/** Keys of the questions to monitoring, beside that of the ClusterVersion. */
const QUESTIONS = 'promql';
const ALERTS = 'alerts';
/** Between two questions for alerts at most, milliseconds. */
const ALERTS_EVERY_MS = 60_000;

/** Finds the updates of a cluster until the signal aborts. Writes nothing: the ClusterVersion has one writer. */
export function startUpdates(deps: UpdatesDeps, signal: AbortSignal): Updates {
  const { versions, watches = [], clock, logger, metrics } = deps;
  const channel = createChannel();
  const finder = new UpdateFinder(deps, (afterMs) => channel.enqueue(QUESTIONS, afterMs));
  const concerned = { enqueue: () => [CLUSTER_VERSION_NAME] };
  channel.enqueue(ALERTS);
  const reconciler = startReconciler({
    name: 'updates',
    for: watch(versions, concerned),
    watches: [channel, ...watches],
    concurrency: 2,
    logger,
    clock,
    signal,
    metrics,
    onTrouble: deps.onTrouble,
    reconcile: async (key, context) => {
      if (key === ALERTS) {
        if (await finder.askAlerts(context.signal)) channel.enqueue(CLUSTER_VERSION_NAME);
        return { requeueAfterMs: Math.min(ALERTS_EVERY_MS, deps.everyMs) };
      }
      if (key !== QUESTIONS) return finder.look(context.signal);
      if (await finder.ask(context.signal)) channel.enqueue(CLUSTER_VERSION_NAME);
      return undefined;
    },
  });
  return { stopped: reconciler.stopped, known: () => finder.known, freshAtMs: () => finder.freshAtMs };
}

/** Remembers what a service and monitoring have said. */
class UpdateFinder {
  readonly #deps: UpdatesDeps;
  readonly #askIn: (afterMs: number) => void;
  readonly #answers = new PromqlAnswers();
  readonly #alerts = new KnownAlerts();
  #retrieval: Retrieval | undefined;
  #known: KnownUpdates | undefined;

  constructor(deps: UpdatesDeps, askIn: (afterMs: number) => void) {
    this.#deps = deps;
    this.#askIn = askIn;
  }

  get known(): KnownUpdates | undefined {
    return this.#known;
  }

  get freshAtMs(): number | undefined {
    return this.#retrieval?.freshAtMs;
  }

  /** Asks the service when that is due, and judges what is known. */
  async look(signal: AbortSignal): Promise<{ requeueAfterMs: number } | undefined> {
    const { versions, running, featureGates = () => new Set<string>(), clock, everyMs } = this.#deps;
    const object = versions.get({ name: CLUSTER_VERSION_NAME });
    const release = running();
    if (!object || !release) return undefined;
    const { upstream } = object.spec;
    const valid = withoutInvalid(object, validateClusterVersion(object, { featureGates: featureGates() }));
    // a wrong service is asked nothing, and nobody else in its place: who else is told of this cluster is for its admin to say
    const key = await this.#retrieve({ ...valid, spec: { ...valid.spec, upstream } }, release, signal);
    this.#judge(object);
    return { requeueAfterMs: Math.max(0, retrievalDueMs(this.#retrieval, key, everyMs) - clock.now()) };
  }

  async #retrieve(object: ClusterVersion, release: RunningRelease, signal: AbortSignal): Promise<string> {
    const { settings, service, clock, everyMs, logger } = this.#deps;
    const query = queryOf(object, release, settings);
    const key = JSON.stringify([retrievalKey(query), isMigration(object, release)]);
    const { channel = '' } = object.spec;
    this.#retrieval ??= storedRetrieval(key, { status: object.status, channel, version: release.version, nowMs: clock.now() });
    if (retrievalDueMs(this.#retrieval, key, everyMs) > clock.now()) return key;
    const result = refuseQuery(query) ?? (await askGraphService({ query, isMigration: isMigration(object, release), signal }, service));
    if ('reason' in result && result.reason !== this.#retrieval?.refusal?.reason)
      logger.info({ reason: result.reason, message: result.message, channel: query.channel }, 'Updates could not be retrieved');
    this.#retrieval = afterAttempt(this.#retrieval, { key, result, nowMs: clock.now() });
    return key;
  }

  #judge(object: ClusterVersion): void {
    const { clock, onChange } = this.#deps;
    if (!this.#retrieval) return;
    const nowMs = clock.now();
    const listed = this.#known?.conditional ?? object.status?.conditionalUpdates ?? [];
    const known = knownUpdates({
      retrieval: this.#retrieval,
      answer: (query) => this.#answers.look(query, nowMs),
      alerts: this.#alerts.risks,
      listed,
      nowMs,
    });
    this.#schedule();
    if (isSameJson(known, this.#known)) return;
    this.#known = known;
    onChange();
  }

  #schedule(): void {
    const now = this.#deps.clock.now();
    const next = this.#answers.next(now);
    if (next) this.#askIn(next.atMs - now);
  }

  /** Asks monitoring for alerts; whether they are others than before. */
  async askAlerts(signal: AbortSignal): Promise<boolean> {
    const { asksAlerts, monitoring, clock } = this.#deps;
    const before = this.#alerts.risks;
    if (asksAlerts?.()) this.#alerts.take(await askAlerts(monitoring, signal), clock.now());
    else this.#alerts.clear();
    return !isSameJson(before, this.#alerts.risks);
  }

  /** Asks monitoring the next question when it is due; whether there is an answer. */
  async ask(signal: AbortSignal): Promise<boolean> {
    const { clock, monitoring } = this.#deps;
    const now = clock.now();
    const next = this.#answers.next(now);
    if (!next || next.atMs > now) {
      this.#schedule();
      return false;
    }
    this.#answers.begin(now);
    this.#answers.store(next.query, await askPrometheus(next.query, monitoring, signal), clock.now());
    this.#schedule();
    return true;
  }
}
