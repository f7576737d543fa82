import { foreign, limitsOf, refOfKey } from '@flotilla/api';
import {
  CLEANUP_FINALIZER,
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeSpec,
  type ClusterGroupUpgradeStatus,
  type PinWay,
} from '@flotilla/api/ran';
import { earliest } from '@flotilla/pace';
import type { RolloutProblem, Stall, ValidationFacts } from '@flotilla/rollout';
import {
  awaitsStatusUntil,
  eventsBetween,
  isEnding,
  isRunning,
  isTurningPoint,
  RETURN_MS,
  readProofWithin,
  stateOf,
  takeBackImported,
  wasMadeAgain,
  withImports,
} from '@flotilla/rollout';
import { type Client, type EventRecorder, type ReconcileResult, type RefusedValues, SentStatus } from '@flotilla/runtime';
import type { Placing } from '../placements/placing.ts';
import { withPins } from '../spokes/jobs/kinds/unpin/mark.ts';
import type { SpokeRollouts } from '../spokes/rollout/part.ts';
import { changesOf, KeptFields, refusedValues, writeFinalizer, writeStatus } from './apply.ts';
import type { UpgradeJobs } from './jobs.ts';
import { type PassDeps, UpgradePasses } from './passes.ts';
import { describeCleaning, describeEnd, describeMadeAgain, describeUnreadable } from './status.ts';
import { EndedTurns, type News, newsOf, pauseAfter, sizeOf } from './status-pace.ts';
import { withReading, withSummary, withWaits } from './status-readings.ts';

/** Dependencies of `UpgradeReconciler`. */
interface ReconcilerDeps extends PassDeps {
  readonly client: Client;
  readonly rollout: PassDeps['rollout'] & Pick<SpokeRollouts, 'isClean' | 'unservedOf'>;
  /** Lasting errors of an upgrade's writes by cluster, or `''` for the Placements. */
  readonly problems: (upgradeUid: string) => ReadonlyMap<string, RolloutProblem>;
  readonly placing: Pick<Placing, 'apply' | 'forget'>;
  readonly jobs: PassDeps['jobs'] & Pick<UpgradeJobs, 'end' | 'isClean' | 'owePins'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** Live upgrades wait for their reconcile: those that have ended wait behind them. */
  readonly isBusy: () => boolean;
}

/** Plans each upgrade at most once a second. The status is written as often as its size allows; turning points of a batch are written at once. */
const PASS_INTERVAL_MS = 1000;
/** Milliseconds between two reconciles of a rollout whose status write is delayed: a turning point ends the delay. */
const RUNNING_INTERVAL_MS = 200;
/** Milliseconds that the end of an upgrade waits for spokes, from this process's first attempt; it always waits for the hub. */
const SPOKE_PATIENCE_MS = 60_000;
/** Milliseconds until the hub is checked again without events. */
const CLEAN_RECHECK_MS = 5000;
const LEAST_RECHECK_MS = 1000;
/** Finds values beyond the CRD's limits: older CRDs and other vendors' have none. */
const findExcess = limitsOf(ClusterGroupUpgradeSpec);

/** Memory of one upgrade in this process; all of it can be rebuilt. */
interface Memory {
  uid: string;
  writtenAt: number;
  /** Bytes of the last written status. */
  writtenBytes: number;
  readonly sent: SentStatus;
  /** Time of the last pass before the start. */
  preparedAt?: number | undefined;
  /** Time of the last pass of the rollout. */
  advancedAt?: number;
  /** Start of the clean-up in this process. */
  cleaningSince?: number | undefined;
  /** Pins were looked for; those that a hub has left which knew none, by their way. */
  pins?: PinWay | 'settled';
  /** Version from which our finalizer was removed. */
  letGo?: string | undefined;
}

/**
 * Reconciles ClusterGroupUpgrades in this order: gone, deleting, finalizer, ended, running; otherwise plan, jobs, gates and start; status last. It is
 * the only writer of their status.
 */
export class UpgradeReconciler {
  readonly #deps: ReconcilerDeps;
  readonly #memory = new Map<string, Memory>();
  readonly #passes: UpgradePasses;
  readonly #kept = new KeptFields();
  readonly #refused: RefusedValues;
  readonly #turns: EndedTurns;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    this.#refused = refusedValues(deps);
    this.#passes = new UpgradePasses(deps, this.#kept);
    this.#turns = new EndedTurns(deps.now());
  }

  /** @param key `namespace/name` */
  async reconcile(key: string): Promise<ReconcileResult> {
    const { caches, placing } = this.#deps;
    const upgrade = caches.upgrades.get(refOfKey(key));
    if (!upgrade) {
      this.#forget(key);
      return {};
    }
    const memory = this.#remember(key, upgrade);
    // By what is stored, and before anything else: the end of an upgrade waits for it, and a pass of the rollout may be put off.
    const placeMs = await placing.apply(upgrade);
    const current = caches.upgrades.get(refOfKey(key));
    // One that went meanwhile, or that another has replaced, is news of its own.
    if (!current || current.metadata.uid !== upgrade.metadata.uid) return {};
    const { requeueAfterMs } = await this.#judge(key, current, memory);
    const againMs = earliest(requeueAfterMs, placeMs);
    return againMs === undefined ? {} : { requeueAfterMs: againMs };
  }

  /** Decides what is next of an upgrade, and stores it. */
  async #judge(key: string, upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    if (isEnding(upgrade)) this.#passes.giveUpPlaces(memory.uid);
    if (upgrade.metadata.deletionTimestamp) return this.#finalize(upgrade, memory);
    if (!upgrade.metadata.finalizers?.includes(CLEANUP_FINALIZER)) {
      await writeFinalizer(upgrade, true, this.#deps.client, !this.#deps.talmStrict);
      return {};
    }
    if (!this.#deps.talmStrict && wasMadeAgain(upgrade)) return this.#takeUpAgain(upgrade, memory);
    const state = stateOf(upgrade);
    if (state === 'cleaned') return this.#revise(key, upgrade, memory);
    if (state === 'ended') return this.#complete(upgrade, memory);
    // The inputs of a waiting upgrade's plan can change a thousand times a second during other rollouts.
    const waitMs = isRunning(upgrade)
      ? this.#leftOf(RUNNING_INTERVAL_MS, memory.advancedAt)
      : Math.max(this.#pauseLeft(memory, 'states'), this.#leftOf(PASS_INTERVAL_MS, memory.preparedAt));
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    return this.#advance(upgrade, memory);
  }

  /** Goes on from the status that was restored; without one, waits for it as long as members may take to come back, then begins anew. */
  async #takeUpAgain(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const { client, now } = this.#deps;
    const until = awaitsStatusUntil(upgrade);
    if (until === undefined || now() >= until) {
      await writeFinalizer(upgrade, true, client, true);
      return {};
    }
    await this.#write(upgrade, this.#read(upgrade, describeMadeAgain(upgrade, until, new Date(now()))), memory);
    return { requeueAfterMs: until - now() };
  }

  /** Milliseconds left of a pause. A start in the future predates a step back of the clock. */
  #leftOf(pauseMs: number, since = Number.NEGATIVE_INFINITY): number {
    const now = this.#deps.now();
    return since > now ? 0 : Math.max(since + pauseMs - now, 0);
  }

  /** Milliseconds left of the pause after the last write, for such news. */
  #pauseLeft({ writtenAt, writtenBytes }: Memory, news: News): number {
    return this.#leftOf(pauseAfter(writtenBytes, news), writtenAt);
  }

  async #advance(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const spec = foreign(ClusterGroupUpgradeSpec).safeParse(upgrade.spec ?? {});
    const found = findExcess(upgrade.spec);
    // The reference validates its other limits itself.
    const excess = this.#deps.talmStrict && found?.isValue ? undefined : found;
    if (!spec.success || excess) {
      this.#passes.giveUpPlaces(memory.uid);
      const issues = spec.error?.issues ?? (excess ? [excess] : []);
      const unreadable = describeUnreadable(upgrade, issues, { now: new Date(this.#deps.now()), talmStrict: this.#deps.talmStrict });
      await this.#write(upgrade, this.#read(upgrade, unreadable), memory);
      return {};
    }
    if (!this.#deps.talmStrict && readProofWithin(upgrade).withinMs !== undefined)
      await this.#kept.ask(upgrade, { client: this.#deps.client, now: this.#deps.now() });
    const uidOf = (name: string) => this.#deps.caches.clusters.get({ name })?.metadata.uid;
    const hasFallenBack = (cluster: string) => this.#passes.hasFallenBack(upgrade, cluster);
    const seen = this.#deps.talmStrict ? upgrade : takeBackImported(upgrade, uidOf, hasFallenBack);
    const running = isRunning(upgrade);
    if (running) {
      memory.advancedAt = this.#deps.now();
    } else memory.preparedAt = this.#deps.now();
    const result = running ? this.#passes.rollOut(seen, spec.data) : this.#passes.prepare(seen, spec.data);
    if (!result) {
      // The pass after the policies are read replaces this one.
      memory.preparedAt = undefined;
      return {};
    }
    const { wakeAt, facts, fallenSince, stall } = result;
    const described = this.#deps.talmStrict ? result.status : withImports(result.status, seen.status, uidOf);
    const status = { ...this.#read(upgrade, described, stall), waits: upgrade.status?.waits };
    const again = (at: number | undefined) => (at === undefined ? {} : { requeueAfterMs: Math.max(at - this.#deps.now(), 0) });
    const pauseMs = this.#pauseLeft(memory, newsOf(upgrade.status, status));
    if (pauseMs > 0 && !isTurningPoint(upgrade.status ?? { status: {} }, status))
      return again(earliest(this.#deps.now() + pauseMs, wakeAt));
    const { caches, now } = this.#deps;
    await this.#write(upgrade, withWaits(upgrade, status, { caches, fallenSince, now: now() }), memory, facts);
    return again(wakeAt);
  }

  async #finalize(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const { finalizers, resourceVersion } = upgrade.metadata;
    // Its end may be on its way here, and cleaning a clean spoke writes an action that nobody would remove.
    if (!finalizers?.includes(CLEANUP_FINALIZER) || memory.letGo === resourceVersion) return {};
    const again = await this.#cleanUp(upgrade, memory);
    if (again) return this.#describeCleaning(upgrade, memory, again);
    await writeFinalizer(upgrade, false, this.#deps.client);
    memory.cleaningSince = undefined;
    memory.letGo = resourceVersion;
    return {};
  }

  /** Writes `completedAt` after the verdict, once the clean-up is done (spec/talm 2.4, 2.14). */
  async #complete(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    const again = await this.#cleanUp(upgrade, memory);
    if (again) return this.#describeCleaning(upgrade, memory, again);
    await this.#write(upgrade, this.#read(upgrade, describeEnd(upgrade, new Date(this.#deps.now()))), memory);
    memory.cleaningSince = undefined;
    return {};
  }

  /** An upgrade that has ended says what is so of its spec, though another version or mode of the hub wrote its status, or its spec was edited since. */
  async #revise(key: string, upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult> {
    memory.pins ??= (await this.#deps.jobs.owePins(upgrade)) ?? 'settled';
    const desired = this.#read(upgrade, withPins(upgrade.status ?? { status: {} }, memory.pins));
    if (!changesOf(upgrade, withSummary(upgrade, desired), this.#kept)) {
      this.#turns.forget(key);
      return {};
    }
    const { isBusy, now } = this.#deps;
    const waitMs = this.#turns.wait(key, { endedAt: upgrade.status?.status.completedAt ?? '', isBusy: isBusy(), now: now() });
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#write(upgrade, desired, memory);
    return {};
  }

  /** The status with what it says of its generation, and to tools that know nothing of upgrades. */
  #read(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus, stall?: Stall): ClusterGroupUpgradeStatus {
    const { talmStrict, now } = this.#deps;
    return withReading(upgrade, status, { talmStrict, now: new Date(now()), stall });
  }

  /**
   * Removes the objects that the upgrade does not keep. Returns undefined once done, else when to try again. It waits for spokes only for a
   * while, because one may stay away. Hub objects enforce policies and run on spokes, so they must go at any time.
   */
  async #cleanUp(upgrade: ClusterGroupUpgrade, memory: Memory): Promise<ReconcileResult | undefined> {
    const { jobs, rollout, now } = this.#deps;
    // A clock that stepped back restarts the wait.
    memory.cleaningSince = Math.min(memory.cleaningSince ?? now(), now());
    const leftMs = memory.cleaningSince + SPOKE_PATIENCE_MS - now();
    const isLate = leftMs <= 0;
    const isBlind = now() < memory.cleaningSince + RETURN_MS && rollout.unservedOf(upgrade) !== undefined;
    await jobs.end(memory.uid);
    if (jobs.isClean(upgrade, isLate) && rollout.isClean(upgrade, { leavingCounts: !isLate }) && !isBlind) {
      await jobs.owePins(upgrade);
      memory.pins = 'settled';
      return undefined;
    }
    return { requeueAfterMs: isLate ? CLEAN_RECHECK_MS : Math.max(leftMs, LEAST_RECHECK_MS) };
  }

  /** Reports the problems of the clean-up as long as they last. */
  async #describeCleaning(upgrade: ClusterGroupUpgrade, memory: Memory, again: ReconcileResult): Promise<ReconcileResult> {
    const waitMs = this.#pauseLeft(memory, 'states');
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await this.#write(upgrade, this.#read(upgrade, describeCleaning(upgrade, this.#problemsOf(upgrade))), memory);
    return again;
  }

  #problemsOf(upgrade: ClusterGroupUpgrade): ReadonlyMap<string, Pick<RolloutProblem, 'message'>> {
    const problems = this.#deps.problems(upgrade.metadata.uid ?? '');
    const kind = this.#deps.rollout.unservedOf(upgrade);
    if (kind === undefined) return problems;
    const message = `The API server serves no ${kind}, so nobody can see what is left of the upgrade; waited for at most ${RETURN_MS / 60_000} minutes: have it served again`;
    return new Map([...problems, ['', { message, isRefused: false }]]);
  }

  /** Writes the status once, and records its events. */
  async #write(
    upgrade: ClusterGroupUpgrade,
    desired: ClusterGroupUpgradeStatus,
    memory: Memory,
    facts: ValidationFacts = {},
  ): Promise<void> {
    const written = await writeStatus(upgrade, withSummary(upgrade, desired), {
      client: this.#deps.client,
      kept: this.#kept,
      sent: memory.sent,
      refused: this.#refused,
      now: this.#deps.now(),
    });
    if (!written) return;
    memory.writtenAt = this.#deps.now();
    memory.writtenBytes = sizeOf(written.status);
    this.#deps.caches.upgrades.wrote(written);
    for (const event of eventsBetween(upgrade.status, written.status ?? { status: {} }, written, facts)) this.#deps.recorder.record(event);
  }

  #remember(key: string, upgrade: ClusterGroupUpgrade): Memory {
    const uid = upgrade.metadata.uid ?? '';
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    if (known) void this.#deps.jobs.end(known.uid);
    const memory: Memory = { uid, writtenAt: 0, writtenBytes: 0, sent: new SentStatus() };
    this.#memory.set(key, memory);
    return memory;
  }

  #forget(key: string): void {
    const memory = this.#memory.get(key);
    if (memory) {
      void this.#deps.jobs.end(memory.uid);
      this.#deps.placing.forget(memory.uid);
      this.#passes.forget(memory.uid);
    }
    this.#memory.delete(key);
    this.#turns.forget(key);
  }
}
