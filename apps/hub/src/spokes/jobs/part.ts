import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { earliest } from '@flotilla/pace';
import { isEnding, type Pause, type PlacesToAsk, type Sightings, type UpgradeIdentity } from '@flotilla/rollout';
import type { Clock, Logger } from '@flotilla/runtime';
import { BY_UID, BY_WORK_AND_CLUSTER, spokeKey } from '../../caches.ts';
import { hubObjectsOf } from '../../lookups.ts';
import { describeWrites } from '../../writes/apply.ts';
import { keyOf, keyText, type PartPlan, type SpokeKey, type SpokePart } from '../part.ts';
import type { Problem } from '../problems.ts';
import { holdsSpoke, logTransports } from '../transports/reach.ts';
import { Admission } from './admission.ts';
import { createSpokeStep, planSpoke, type SpokeStepDeps } from './apply.ts';
import { Claims, type Holder, type Purpose } from './claims.ts';
import { figuresOf, type JudgedSpoke, type Judgement, judgeSpoke } from './judge.ts';
import { haveAllVerdicts, isBeginning, isOnItsWay, type JobState, type SpokeJob } from './kind.ts';
import { findRival, findUnderWay, stateIn } from './observe.ts';
import { hasBegun, watchSpokes } from './watches.ts';

/** Dependencies of `SpokeJobs`. */
interface SpokeJobsDeps extends Omit<SpokeStepDeps, 'mayBegin'> {
  readonly logger: Logger;
  /** Lasting errors of the job's writes, by cluster. */
  readonly problems: (upgradeUid: string) => ReadonlyMap<string, Problem>;
  /** Has the spoke of a key reconciled. */
  readonly enqueue: (key: string) => void;
  /** Receives the uid of an upgrade that waited for a cluster which is free now. */
  readonly onFree: (upgradeUid: string) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Jobs that one pass of an upgrade asks about. */
export interface JobRequest<S extends string, I> {
  readonly upgrade: UpgradeIdentity;
  /** Spokes of the remediation plan, and those whose job has begun. */
  readonly clusters: readonly string[];
  /** States in the upgrade's status, but of clusters that begin anew. */
  readonly stored: Readonly<Record<string, S>>;
  /** Sentences in the upgrade's status: those of verdicts are kept. */
  readonly said?: Readonly<Record<string, string>> | undefined;
  readonly inputs: I;
  /** Why no cluster begins; what runs ends by itself, or is stopped. */
  readonly paused?: Pick<Pause, 'message' | 'stops'> | undefined;
  /** Places of clusters that begin; absent: as many begin as there are. */
  readonly places?: PlacesToAsk | undefined;
  /** First sightings of this pass. */
  readonly sightings: Sightings;
}

/** Answer about them. */
export interface JudgedJobs<S extends string> {
  readonly spokes: ReadonlyMap<string, JudgedSpoke<S>>;
  /** When it may differ without any event, milliseconds since the epoch. */
  readonly at: number | undefined;
}

/** A verdict, and the facts that it follows from by their identity. */
interface Known<S extends string> {
  readonly facts: readonly unknown[];
  readonly judged: Judgement<S>;
}

/**
 * One kind of job for every upgrade: judges its spokes by the stored status and the caches, and plans what the stored status leaves to write. Only the
 * leader has one, and nothing in it but claims of this very moment decides anything.
 */
export class SpokeJobs<S extends JobState, I> implements SpokePart {
  readonly job: SpokeJob<S, I>;
  readonly name: SpokeJob<S, I>['work'];
  readonly watches: SpokePart['watches'];
  readonly step: ReturnType<typeof createSpokeStep<S, I>>;
  readonly #deps: SpokeJobsDeps;
  readonly #claims: Claims;
  readonly #admission: Admission;
  /** Verdicts by uid of the upgrade, then by cluster: most passes see the same of most spokes. */
  readonly #known = new Map<string, Map<string, Known<S>>>();
  /** Uids of upgrades that wait for a cluster. */
  readonly #waiting = new Map<string, Set<string>>();
  /** Scheduled times of cleanings by key, milliseconds since the epoch. */
  readonly #cleanings = new Map<string, number>();
  /** By uid of the upgrade, the last change of the spoke under way that has been still for longest, milliseconds since the epoch. */
  readonly #stillSince = new Map<string, number>();
  readonly #mayBegin = (uid: string, cluster: string): boolean => this.#claims.claim(uid, cluster) === undefined;

  constructor(job: SpokeJob<S, I>, deps: SpokeJobsDeps) {
    const { caches, client, now, clock, enqueue, signal } = deps;
    this.job = job;
    this.name = job.work;
    this.#deps = deps;
    this.step = createSpokeStep(job, { caches, client, now, mayBegin: this.#mayBegin });
    const { initial: idle } = job.machine;
    this.#claims = new Claims(job.work, caches, (uid, cluster) => findUnderWay(job, uid, cluster, { caches, idle })?.metadata.uid);
    this.#admission = new Admission({ clock, onAdmitted: enqueue });
    this.watches = watchSpokes(job, caches, (cluster) => this.#claims.ownerOf(cluster));
    const detach = caches.actions.subscribe(({ type, object }) => {
      if (type === 'set' && hasBegun(job, object)) this.#admission.leave(keyOf(object));
    });
    const stop = () => {
      this.#admission.stop();
      detach();
    };
    signal.addEventListener('abort', stop, { once: true });
  }

  /** Judges the spokes of an upgrade. A cluster that may begin is claimed for it, until it is stored that it has, or the pass asks no more. */
  judge(request: JobRequest<S, I>): JudgedJobs<S> {
    const { upgrade, inputs, paused, clusters } = request;
    const { uid } = upgrade;
    const before = this.#known.get(uid);
    if (!before) logTransports(this.#deps, this.job, request);
    const known = new Map<string, Known<S>>();
    this.#known.set(uid, known);
    const problems = this.#deps.problems(uid);
    // Maps of an input are part of the digest of each cluster.
    const shared = JSON.stringify([inputs, paused, clusters.length]);
    const spokes = new Map<string, JudgedSpoke<S>>();
    const times: (number | undefined)[] = [];
    const still: number[] = [];
    for (const cluster of clusters) {
      const next = this.#judgeOne(request, cluster, { before: before?.get(cluster), shared, error: problems.get(cluster)?.error });
      known.set(cluster, next);
      const { judged } = next;
      spokes.set(cluster, judged);
      times.push(judged.at);
      if (this.#isUnderWay(judged.state)) {
        const figures = judged.progress && figuresOf(judged.progress);
        still.push(request.sightings.since(`${this.name} ${cluster} ${judged.state} ${JSON.stringify(figures)}`));
      }
    }
    this.#releaseOthers(request, spokes);
    const stillSince = earliest(...still);
    if (stillSince === undefined) this.#stillSince.delete(uid);
    else this.#stillSince.set(uid, stillSince);
    return { spokes, at: earliest(...times) };
  }

  #judgeOne(
    { upgrade: { uid }, clusters, stored, said, inputs, paused, places, sightings }: JobRequest<S, I>,
    cluster: string,
    { before, shared, error }: { readonly before: Known<S> | undefined; readonly shared: string; readonly error: string | undefined },
  ): Known<S> {
    const { caches, now } = this.#deps;
    const { machine, digest } = this.job;
    const isYielding = this.#yields(uid, cluster);
    const state = isYielding ? machine.initial : Object.hasOwn(stored, cluster) ? stored[cluster] : undefined;
    const { views, actions } = hubObjectsOf(caches, spokeKey(this.name, uid, cluster));
    // Another upgrade's work has the same name.
    const works = caches.works.byIndex(BY_WORK_AND_CLUSTER, `${this.name}/${cluster}`);
    const known = { stored: state, said: said?.[cluster], error };
    const id = digest?.(inputs, cluster);
    const facts = [shared, id, ...Object.values(known), caches.clusters.get({ name: cluster }), ...views, '', ...actions, '', ...works];
    const at = now();
    const waiting = `${this.name} ${cluster} waits ${id ?? ''}`;
    // The claim of a spoke that could begin depends on other upgrades.
    const isBegun = state !== undefined && state !== machine.initial;
    if (before && isBegun && (before.judged.at ?? Number.POSITIVE_INFINITY) > at && isSame(before.facts, facts)) {
      if (!machine.isFinal(before.judged.state)) sightings.known(waiting);
      return before;
    }
    const judged = judgeSpoke(
      this.job,
      {
        ...known,
        upgradeUid: uid,
        cluster,
        inputs,
        clusters: clusters.length,
        paused,
        places,
        hasObjects: this.hasHubObjects(uid, cluster),
        findHolder: () => this.#findHolder(uid, cluster),
        waitingSince: () => sightings.since(waiting),
        now: at,
      },
      caches,
    );
    if (judged.state !== (state ?? machine.initial)) {
      const fields = { work: this.name, upgradeUid: uid, cluster, from: state, to: judged.state };
      this.#deps.logger.debug(fields, 'Job state changed');
    }
    // A cleaned spoke has no report any more, and its nodes still count.
    const nodes = judged.nodes ?? (machine.isFinal(judged.state) ? before?.judged.nodes : undefined);
    return { facts, judged: nodes === undefined ? judged : { ...judged, nodes } };
  }

  /** True where another upgrade goes first on a spoke that both have begun; the claim is let go for it. */
  #yields(uid: string, cluster: string): boolean {
    const { caches } = this.#deps;
    const [upgrade] = caches.upgrades.byIndex(BY_UID, uid);
    const stored = upgrade && stateIn(this.job, upgrade, cluster);
    if (!upgrade || stored === undefined || this.job.machine.isFinal(stored) || !findRival(this.job, upgrade, cluster, caches))
      return false;
    this.#claims.release(uid, cluster);
    return true;
  }

  #findHolder(uid: string, cluster: string): { readonly name: string; readonly hasEnded: boolean } | undefined {
    const holder = this.#claims.claim(uid, cluster);
    if (!holder) return undefined;
    const waiting = this.#waiting.get(cluster) ?? new Set();
    this.#waiting.set(cluster, waiting.add(uid));
    return { name: holder.name, hasEnded: this.#hasEnded(holder, cluster) };
  }

  /** True when the holder has a verdict for the cluster or no job: only its leftovers hold the cluster. */
  #hasEnded({ uid, isFresh }: Holder, cluster: string): boolean {
    const [holder] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    if (!holder || isEnding(holder)) return true;
    const state = stateIn(this.job, holder, cluster);
    return state === undefined ? !isFresh : this.job.machine.isFinal(state);
  }

  /** Releases clusters that the upgrade has claimed, and that neither began nor wait to. */
  #releaseOthers({ upgrade: { uid }, paused }: JobRequest<S, I>, spokes: ReadonlyMap<string, JudgedSpoke<S>>): void {
    const { initial, isFinal } = this.job.machine;
    for (const cluster of this.#claims.of(uid)) {
      const state = spokes.get(cluster)?.state;
      const isKeptBack = paused !== undefined && state === initial;
      const isWanted = state !== undefined && !isFinal(state) && !isKeptBack;
      if (!isWanted && !this.hasHubObjects(uid, cluster)) this.release(uid, cluster);
    }
  }

  /** Plans what the stored status leaves to write for a spoke. */
  plan(key: SpokeKey): PartPlan {
    const { caches, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const [upgrade] = caches.upgrades.byIndex(BY_UID, uid);
    const planned = planSpoke(this.job, upgrade, cluster, { caches, now, mayBegin: this.#mayBegin });
    const plan = planned?.plan;
    this.#settle(key, upgrade, plan?.state);
    if (!planned || !plan || plan.writes.length === 0) {
      this.#cleanings.delete(keyText(key));
      return { writes: '', at: plan?.at };
    }
    const begins = !planned.context.isStopping && !planned.context.isYielding && isBeginning(plan.state);
    if (begins && !this.#admission.admit(keyText(key))) return { writes: '', at: plan.at };
    const cleanAt = upgrade && this.#cleanAt(key, upgrade, planned.state);
    if (cleanAt !== undefined && cleanAt > now()) return { writes: '', at: cleanAt };
    // Cleaning is never urgent while others still begin.
    const yields = cleanAt !== undefined;
    const apply = (signal: AbortSignal) => this.step(key, signal, planned);
    return { writes: `${plan.state}: ${describeWrites(plan.writes)}`, at: plan.at, yields, apply };
  }

  /** Frees what a spoke has no need of any more: its place among those that begin, and its cluster. */
  #settle(key: SpokeKey, upgrade: ClusterGroupUpgrade | undefined, state: S | undefined): void {
    const { upgrade: uid, cluster } = key;
    if (state === undefined || !isOnItsWay(state)) this.#admission.leave(keyText(key));
    const stored = upgrade && !isEnding(upgrade) ? stateIn(this.job, upgrade, cluster) : undefined;
    // A cluster that was claimed just now is not stored yet.
    const isDropped = !upgrade || isEnding(upgrade) || this.#claims.ownerOf(cluster) !== uid;
    const isOver = stored === undefined ? isDropped : this.job.machine.isFinal(stored);
    if (!isOver) return;
    if (this.hasHubObjects(uid, cluster)) this.#tellWaiting(cluster);
    else this.release(uid, cluster);
  }

  /** Scheduled time of a spoke's cleaning; undefined for other steps, and once every spoke of its upgrade has its verdict. */
  #cleanAt(key: SpokeKey, upgrade: ClusterGroupUpgrade, state: S): number | undefined {
    if (!this.job.machine.isFinal(state) || haveAllVerdicts(this.job.statesIn(upgrade.status) ?? {})) return undefined;
    const id = keyText(key);
    const at = this.#cleanings.get(id) ?? this.#admission.scheduleCleaning();
    this.#cleanings.set(id, at);
    return at;
  }

  /** Forgets an upgrade and releases its spokes, which are cleaned by their stored states from then on. */
  end(uid: string): void {
    this.#known.delete(uid);
    this.#stillSince.delete(uid);
    for (const cluster of this.#claims.of(uid)) {
      const id = keyText({ upgrade: uid, cluster });
      this.#admission.leave(id);
      this.release(uid, cluster);
      this.#deps.enqueue(id);
    }
  }

  /** True while an upgrade's job has objects on the hub, except those that wait for the upgrade's end. */
  hasHubObjects(uid: string, cluster: string): boolean {
    return holdsSpoke(this.#deps.caches, this.name, uid, cluster);
  }

  /** Last change of the spoke of an upgrade that is under way and has been still for longest, milliseconds since the epoch. */
  stillSince(uid: string): number | undefined {
    return this.#stillSince.get(uid);
  }

  /** Claims a cluster to clean up after an upgrade, or returns the upgrade that holds it. */
  claim(uid: string, cluster: string, purpose?: Purpose): Holder | undefined {
    return this.#claims.claim(uid, cluster, purpose);
  }

  /** Releases a cluster for other upgrades, if it is claimed for this purpose or not at all. */
  release(uid: string, cluster: string, purpose?: Purpose): void {
    if (this.#claims.release(uid, cluster, purpose)) this.#tellWaiting(cluster);
  }

  /** Upgrades that wait for the cluster look at it again. The next status may be the same, so their spoke is planned as well. */
  #tellWaiting(cluster: string): void {
    const waiting = this.#waiting.get(cluster);
    this.#waiting.delete(cluster);
    for (const uid of waiting ?? []) {
      this.#deps.onFree(uid);
      this.#deps.enqueue(keyText({ upgrade: uid, cluster }));
    }
  }

  #isUnderWay(state: S): boolean {
    return state !== this.job.machine.initial && !this.job.machine.isFinal(state);
  }
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((fact, index) => fact === other[index]);
