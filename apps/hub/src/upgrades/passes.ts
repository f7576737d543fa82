import { type ClusterGroupUpgrade, type ClusterGroupUpgradeSpec, type ClusterGroupUpgradeStatus, LimitedActivity } from '@flotilla/api/ran';
import { earliest } from '@flotilla/pace';
import type { ValidationFacts } from '@flotilla/rollout';
import {
  advanceRollout,
  batchGatesOf,
  describeNewcomer,
  FirstSeen,
  findOtherVersion,
  findRetry,
  type GateInput,
  isOpenToMembers,
  isSameSoftware,
  isTakenOut,
  joinRollout,
  judgeBatchGates,
  judgeBlocking,
  judgeGates,
  type Missing,
  newcomers,
  type ObservedUpgrade,
  type PlanDeps,
  planUpgrade,
  pullForFallen,
  RETURN_MS,
  type RolloutObservation,
  remainingClusters,
  rememberMeant,
  retryInRollout,
  type Sightings,
  type Stall,
  selectPresent,
  startRollout,
  stateBeforeStart,
  toldAt,
  type UpgradePlan,
  waitingSince,
  withImportsOf,
  withTemplateVersions,
} from '@flotilla/rollout';
import type { Logger } from '@flotilla/runtime';
import type { RolloutCaches, SpokeJobCaches } from '../caches.ts';
import type { FleetPlaces } from '../limits/places.ts';
import { tenancyOf } from '../lookups.ts';
import type { SpokeRollouts } from '../spokes/rollout/part.ts';
import type { KeptFields } from './apply.ts';
import { askBefore, askNow, findUnproven } from './cache-proofs.ts';
import type { UpgradeJobs } from './jobs.ts';
import { Departures, driftSighting, observeRollout, observeUpgrade, type UpgradeCaches } from './observe.ts';
import { describePreparation, describeRollout } from './status.ts';
import { describeLateBackups, describeLatePulls, describeRolloutJobs, type PrecachingReport } from './status-jobs.ts';
import { formNextWave, judgeFirstWave, putOffUnready, wavesOf } from './waves.ts';

/** Dependencies of `UpgradePasses`. */
export interface PassDeps extends PlanDeps {
  readonly caches: UpgradeCaches & SpokeJobCaches & RolloutCaches;
  readonly rollout: Pick<SpokeRollouts, 'problems'>;
  readonly jobs: Pick<UpgradeJobs, 'precache' | 'nextProofs' | 'backUp' | 'backUpLate' | 'precacheLate'>;
  /** Places under the limits of the fleet; absent: there are none, as for the reference. */
  readonly places?: FleetPlaces | undefined;
  readonly now: () => number;
  readonly logger: Logger;
}

/** Milliseconds until the next pass when a proof, or a job of a cluster that left, has news that the status shows from then on. */
const JOB_NEWS_MS = 1000;

/** Result of a pass. */
interface PassResult {
  readonly status: ClusterGroupUpgradeStatus;
  /** Milliseconds since the epoch. */
  readonly wakeAt: number | undefined;
  /** Wait that ends by somebody alone. */
  readonly stall?: Stall | undefined;
  /** Facts for events. */
  readonly facts?: ValidationFacts;
  /** Since when clusters that were complete do not comply. */
  readonly fallenSince?: ReadonlyMap<string, number>;
}

/** Makes the passes of an upgrade: each says what its status is to be by what is seen, and when to look again. They request jobs, and write nothing. */
export class UpgradePasses {
  readonly #deps: PassDeps;
  readonly #kept: Pick<KeptFields, 'areProofsKept' | 'askAgainAt'>;
  readonly #firstSeen = new FirstSeen();
  readonly #departures: Departures;

  constructor(deps: PassDeps, kept: Pick<KeptFields, 'areProofsKept' | 'askAgainAt'>) {
    this.#deps = deps;
    this.#kept = kept;
    this.#departures = new Departures(deps.caches.clusters);
  }

  /** Forgets what it remembers of an upgrade. */
  forget(uid: string): void {
    this.#firstSeen.forget(uid);
    this.giveUpPlaces(uid);
  }

  /** An upgrade of which no pass is made asks for no place. */
  giveUpPlaces(uid: string): void {
    for (const activity of LimitedActivity.options) this.#deps.places?.[activity].forget(uid);
  }

  /** Tells of a cluster that was complete whether it has not complied for so long that it is enforced again, as the last pass saw it. */
  hasFallenBack({ metadata }: ClusterGroupUpgrade, cluster: string): boolean {
    const since = this.#firstSeen.known(metadata.uid ?? '', driftSighting(cluster));
    return since !== undefined && this.#deps.now() >= toldAt({ since });
  }

  /** Prepares an upgrade, and starts its rollout once no gate refuses. Undefined while its policies are read. */
  prepare(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec): PassResult | undefined {
    const { caches, jobs, now, talmStrict } = this.#deps;
    const sightings = this.#firstSeen.pass(upgrade.metadata.uid ?? '', now());
    const observed = { ...observeUpgrade(upgrade, caches, now()), missing: this.#missingOf(upgrade, spec, sightings) };
    const plan = planUpgrade(observed, spec, { ...this.#deps, areProofsKept: this.#kept.areProofsKept });
    if (plan.stopped === 'policyReading') return undefined;
    // Pre-caching has its say in the states of the clusters.
    const asked = askBefore(upgrade, plan, {
      now: now(),
      talmStrict,
      refusal: judgeGates(this.#gateInput(upgrade, spec, plan, undefined, observed)),
    });
    // A proof is about the images that were pulled, and none is made of others.
    const { spec: pulled = {} } = upgrade.status?.precaching ?? {};
    const isPulled = isSameSoftware(pulled, plan.precaching?.spec ?? pulled);
    this.#deps.places?.upgrading.forget(upgrade.metadata.uid ?? '');
    const places = this.#deps.places?.pulling.open(upgrade);
    const precaching = jobs.precache(upgrade, plan, { ask: isPulled ? asked?.ask : undefined, sightings, places });
    places?.close();
    const first = judgeFirstWave(upgrade, plan, { ...this.#deps, now: now(), precaching, sightings });
    const gates = { ...this.#gateInput(upgrade, spec, plan, precaching, observed), isFirstReady: first?.isReady };
    const backup = jobs.backUp(upgrade, gates, sightings);
    const final = { ...gates, backup: backup?.rollUp };
    const refusal = plan.stopped === undefined ? judgeGates(final) : undefined;
    const status = describePreparation({ upgrade, plan, precaching, backup, refusal, talmStrict, now: new Date(now()) });
    const recheckAt = plan.recheckAfterMs === undefined ? undefined : now() + plan.recheckAfterMs;
    if (stateBeforeStart({ isPlanned: plan.stopped === undefined, refusal }) !== 'preparing') {
      const facts = { missingClusters: plan.selection.failure?.missing };
      const wakeAt = earliest(recheckAt, refusal?.wakeAt, asked?.wakeAt, precaching?.at, backup?.at, first?.at);
      return { status, wakeAt, stall: refusal?.stall, facts };
    }
    const { canaries, maxConcurrency } = spec.remediationStrategy;
    const { isCompliant, compliant, policies } = plan;
    const looks = talmStrict || observed.ways === undefined ? [] : policies.forUpgrade.map(({ look }) => look);
    const started = startRollout(status, {
      clusters: remainingClusters(final),
      compliant,
      isCompliant,
      canaries,
      maxConcurrency,
      waves: wavesOf(upgrade, talmStrict) !== undefined,
      ...(looks.length > 0 && { policies: { count: looks.length, meant: (cluster, index) => looks[index]?.(cluster).meant } }),
      now: now(),
      talmStrict,
    });
    return this.rollOut({ ...upgrade, status: withImportsOf(started, upgrade.status ?? started) }, spec);
  }

  /** Members that the stored plan names, and that are neither there nor known to have left; for half an hour from the first look of any leader. */
  #missingOf({ status = { status: {} } }: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec, { since }: Sightings): Missing | undefined {
    const { caches, now } = this.#deps;
    const named = new Set((status.remediationPlan ?? []).flat());
    const clusters = [...named].filter((name) => !caches.clusters.get({ name }) && !this.#departures.has(name) && !isTakenOut(spec, name));
    const seen = Math.max(...clusters.map((cluster) => since(`missing ${cluster}`)));
    const until = Math.min(seen, waitingSince(status) ?? seen) + RETURN_MS;
    return clusters.length > 0 && now() < until ? { clusters, until } : undefined;
  }

  /** Advances a started rollout by its status and observation alone. */
  rollOut(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec): PassResult {
    const { caches, jobs, now, rollout, talmStrict } = this.#deps;
    const at = now();
    const stored = upgrade.status ?? { status: {} };
    const states = stored.precaching?.status ?? {};
    const fresh = new Set(talmStrict ? [] : newcomers(stored));
    const otherVersion = talmStrict ? undefined : findOtherVersion(upgrade, templateOf(upgrade, caches), caches.templates.present);
    const gates = { ...batchGatesOf(upgrade, { now: at, talmStrict, areProofsKept: this.#kept.areProofsKept }), otherVersion };
    const refusal = judgeBatchGates(gates);
    const asked = askNow(upgrade, { now: at, talmStrict, refusal });
    const proofs = asked && jobs.nextProofs(upgrade, asked.ask);
    const problems = rollout.problems(upgrade);
    const sightings = this.#firstSeen.pass(upgrade.metadata.uid ?? '', at);
    const places = { pulling: this.#deps.places?.pulling.open(upgrade), upgrading: this.#deps.places?.upgrading.open(upgrade) };
    const observation = observeRollout(upgrade, caches, {
      place: places.upgrading?.isLimited ? places.upgrading.find : undefined,
      problem: (cluster = '') => problems.get(cluster),
      unproven: proofs && ((cluster) => findUnproven(cluster, { ...proofs, states }, asked.ask)),
      newcomer:
        fresh.size > 0 ? (cluster, facts) => (fresh.has(cluster) ? describeNewcomer(stored, cluster, facts) : undefined) : undefined,
      sightings,
      otherVersion,
      talmStrict,
      hasLeft: (cluster) => this.#departures.has(cluster) || isTakenOut(spec, cluster),
      tenancy: tenancyOf(upgrade.metadata.namespace ?? '', caches),
      now: at,
    });
    const members = this.#withMembers(upgrade, spec, observation);
    const deferred = putOffUnready(upgrade, members, { caches, talmStrict, proofs, fresh, now: at });
    const isOpen = refusal === undefined;
    const formed = formNextWave(
      { ...upgrade, status: withImportsOf(deferred, stored) },
      { caches, talmStrict, now: at, sightings, isOpen },
    );
    const next = formed.status;
    const late = jobs.precacheLate({ ...upgrade, status: next }, { proofs, sightings, places: places.pulling });
    const pulled = describeLatePulls(next, late.pulls);
    const backups = jobs.backUpLate({ ...upgrade, status: pulled }, sightings);
    const status = describeLateBackups(pulled, backups, { now: new Date(at) });
    const advance = advanceRollout({ spec, status, observation, gates, wave: formed.refuse, now: at, talmStrict });
    for (const each of Object.values(places)) each?.close();
    const described = describeRollout(status, advance, {
      now: new Date(at),
      talmStrict,
      pause: gates.pause,
      precaching: late.pulls?.rollUp,
      generation: talmStrict ? undefined : upgrade.metadata.generation,
    });
    return {
      status: describeRolloutJobs(described, late.jobs),
      wakeAt: earliest(
        advance.wakeAt,
        formed.at,
        observation.lookAt,
        asked?.wakeAt,
        asked && this.#kept.askAgainAt,
        late.jobs?.isNews ? at + JOB_NEWS_MS : undefined,
        late.jobs?.at,
        late.pulls?.at,
        backups?.at,
      ),
      stall: advance.stall,
      fallenSince: advance.fallenSince,
    };
  }

  /** The stored status with what the rollout is about by now: who has joined it or is tried again, for whom its policies are meant, and its templates. */
  #withMembers(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec, observation: RolloutObservation): ClusterGroupUpgradeStatus {
    const { caches, talmStrict } = this.#deps;
    const stored = upgrade.status ?? { status: {} };
    if (talmStrict) return rememberMeant(stored, observation.mode);
    const versioned = withTemplateVersions(upgrade, stored, templateOf(upgrade, caches));
    const joined = isOpenToMembers(upgrade)
      ? this.#join(upgrade, spec, versioned, observation)
      : rememberMeant(versioned, observation.mode);
    const pulled = pullForFallen(joined, observation, this.#deps.now());
    const retry = findRetry(upgrade);
    return retry ? retryInRollout(pulled, retry, observation.exists) : pulled;
  }

  /** The status with the clusters that are selected since the start. */
  #join(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    status: ClusterGroupUpgradeStatus,
    { mode, exists }: RolloutObservation,
  ): ClusterGroupUpgradeStatus {
    const { upgradeAt, managed, tenancy } = observeUpgrade(upgrade, this.#deps.caches, this.#deps.now());
    const { eligible } = judgeBlocking(upgrade, upgradeAt);
    return joinRollout(status, { selected: selectPresent(spec, managed, tenancy), eligible, mode, exists, preCaching: spec.preCaching });
  }

  #gateInput(
    upgrade: ClusterGroupUpgrade,
    spec: ClusterGroupUpgradeSpec,
    plan: UpgradePlan,
    precaching: PrecachingReport | undefined,
    observed: ObservedUpgrade,
  ): GateInput {
    const { now, talmStrict } = this.#deps;
    return {
      ...batchGatesOf(upgrade, { now: now(), talmStrict, areProofsKept: this.#kept.areProofsKept }),
      enabled: spec.enable,
      canaries: spec.remediationStrategy.canaries ?? [],
      planned: plan.batches.flat(),
      precaching: precaching?.rollUp,
      blocking: judgeBlocking(upgrade, observed.upgradeAt),
      wantsBackup: spec.backup && plan.batches.length > 0,
      backup: undefined,
    };
  }
}

/** A template in the namespace of the upgrade. */
const templateOf =
  ({ metadata: { namespace } }: ClusterGroupUpgrade, { templates }: Pick<RolloutCaches, 'templates'>) =>
  (name: string) =>
    templates.get({ namespace, name });
