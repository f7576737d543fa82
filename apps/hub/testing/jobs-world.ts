/** A hub in memory whose leader judges the spokes of one kind of job, and plans their steps. Steps wait until a test takes them. */
import type { KubeObject, Resource } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ManualClock, settled } from '@flotilla/pace/testing';
import { FirstSeen, type UpgradeIdentity } from '@flotilla/rollout';
import { type Client, createLogger, logOnly } from '@flotilla/runtime';
import { expect } from 'vitest';
import { createSpokeStep } from '../src/spokes/jobs/apply.ts';
import type { JudgedSpoke } from '../src/spokes/jobs/judge.ts';
import type { JobState, SpokeJob } from '../src/spokes/jobs/kind.ts';
import { type JobRequest, type JudgedJobs, SpokeJobs } from '../src/spokes/jobs/part.ts';
import { keyText, parseSpokeKey, type SpokeKey } from '../src/spokes/part.ts';
import { Problems } from '../src/spokes/problems.ts';
import { SpokeReconciler } from '../src/spokes/reconciler.ts';
import { HandOver } from '../src/workers/hand-over.ts';
import { type HubProcess, MemoryHub } from './memory-hub.ts';
import { agentCondition } from './observation-builders.ts';

/** The cluster of a world. */
export const SPOKE = 'spoke';
/** Other upgrades than `UPGRADE`. */
export const OTHER: UpgradeIdentity = { namespace: 'default', name: 'other', uid: 'uid-2' };
export const THIRD: UpgradeIdentity = { namespace: 'default', name: 'third', uid: 'uid-3' };
/** Conditions of an upgrade whose rollout runs, and of one that has ended. */
export const RUNNING = { conditions: [agentCondition('Progressing', 'True', 'InProgress')] };
export const FAILED = { conditions: [agentCondition('Succeeded', 'False', 'TimedOut')] };
/** Status of an action that the agent has carried out. */
export const DONE = { conditions: [agentCondition('Completed', 'True', 'ActionDone')] };
const logger = createLogger({ name: 'test', level: 'silent' });

/** Key of a spoke of an upgrade. */
export const keyOf = ({ uid }: UpgradeIdentity, cluster = SPOKE): SpokeKey => ({ upgrade: uid, cluster });

type Asked<S extends JobState, I> = Partial<Omit<JobRequest<S, I>, 'upgrade' | 'sightings'>>;

/** See the head of this file. Stop it, because its watches wait for ever otherwise. */
export class JobsWorld<S extends JobState, I> {
  readonly hub = new MemoryHub();
  readonly clock = new ManualClock(Date.parse('2026-01-01T00:00:10Z'));
  readonly job: SpokeJob<S, I>;
  /** Uids of upgrades that are to look again: a cluster is free, or a problem has changed. */
  readonly told: string[] = [];
  /** Keys of steps that wait. */
  readonly steps = new Set<string>();
  /** Upgrades delete what they made when they end. */
  deleteObjects = true;
  problems = this.#newProblems();
  stopping = new AbortController();
  readonly #inputs: I;
  #seen = new FirstSeen();
  #leader: HubProcess | undefined;
  #worker: HubProcess | undefined;
  #jobs: SpokeJobs<S, I> | undefined;

  private constructor(job: SpokeJob<S, I>, inputs: I) {
    this.job = job;
    this.#inputs = inputs;
  }

  /** Starts with one available cluster. */
  static async start<S extends JobState, I>(job: SpokeJob<S, I>, inputs: I): Promise<JobsWorld<S, I>> {
    const world = new JobsWorld(job, inputs);
    world.#leader = await world.hub.process();
    world.#worker = await world.hub.process();
    await world.putCluster();
    world.lead();
    return world;
  }

  stop(): void {
    this.stopping.abort();
    this.hub.stop();
  }

  get leader(): HubProcess {
    return this.#leader ?? expect.fail('no leader');
  }

  /** Another process, with caches of its own. */
  get worker(): HubProcess {
    return this.#worker ?? expect.fail('no worker');
  }

  get jobs(): SpokeJobs<S, I> {
    return this.#jobs ?? expect.fail('no leader');
  }

  /** Becomes the leader, which knows nothing yet. */
  lead(client: Client = this.leader.client): void {
    const { clock } = this;
    this.stopping.abort();
    this.stopping = new AbortController();
    this.#seen = new FirstSeen();
    this.steps.clear();
    this.problems = this.#newProblems();
    const { signal } = this.stopping;
    const jobs = new SpokeJobs(this.job, {
      caches: this.leader.caches,
      client,
      logger,
      clock,
      now: () => clock.now(),
      problems: (uid) => this.problems.of(this.job.work, uid),
      enqueue: (key) => reconciler.enqueue(key),
      onFree: (uid) => void this.told.push(uid),
      signal,
    });
    const queue = { enqueue: (key: string) => void this.steps.add(key), holds: () => true };
    const isGone = () => false;
    const handOver = new HandOver(queue, clock);
    const reconciler = new SpokeReconciler({
      onTrouble: logOnly,
      parts: [jobs],
      problems: this.problems,
      isGone,
      handOver,
      concurrency: 4,
      clock,
      logger,
      signal,
    });
    this.#jobs = jobs;
    reconciler.start();
  }

  #newProblems(): Problems {
    return new Problems({ onChange: (uid) => void this.told.push(uid), now: () => this.clock.now() });
  }

  /** Judges an upgrade by its stored status, but for these parts of the request. */
  judge(upgrade: UpgradeIdentity, asked: Asked<S, I> = {}): JudgedJobs<S> {
    const { status } = this.leader.caches.upgrades.get(upgrade) ?? {};
    const said = (this.job.work === 'backup' ? status?.backup : status?.precaching)?.messages;
    const sightings = this.#seen.pass(upgrade.uid, this.clock.now());
    const stored = this.job.statesIn(status) ?? {};
    return this.jobs.judge({ upgrade, clusters: [SPOKE], stored, said, inputs: this.#inputs, sightings, ...asked });
  }

  /** Judges the spoke. */
  judged(upgrade: UpgradeIdentity, asked?: Asked<S, I>): JudgedSpoke<S> | undefined {
    return this.judge(upgrade, asked).spokes.get(SPOKE);
  }

  stateOf(upgrade: UpgradeIdentity, asked?: Asked<S, I>): S | undefined {
    return this.judged(upgrade, asked)?.state;
  }

  messageOf(upgrade: UpgradeIdentity, asked?: Asked<S, I>): string | undefined {
    return this.judged(upgrade, asked)?.message;
  }

  /** Makes a pass: judges the spoke, and stores its state. */
  async pass(upgrade: UpgradeIdentity, asked?: Asked<S, I>): Promise<void> {
    await this.store(upgrade, this.stateOf(upgrade, asked));
  }

  /**
   * Stores a state of the spoke in an upgrade's status; undefined: the status does not name it.
   * @param by processes that see it then
   */
  async store(
    upgrade: UpgradeIdentity,
    state: S | undefined,
    parts: Readonly<Record<string, unknown>> = {},
    by: readonly HubProcess[] = [this.leader, this.worker],
  ): Promise<void> {
    await this.storeAll(upgrade, state === undefined ? {} : ({ [SPOKE]: state } as Record<string, S>), parts, by);
  }

  /** The same of several clusters. */
  async storeAll(
    upgrade: UpgradeIdentity,
    status: Readonly<Record<string, S>>,
    parts: Readonly<Record<string, unknown>> = {},
    by: readonly HubProcess[] = [this.leader, this.worker],
  ): Promise<void> {
    const spec = {
      clusters: Object.keys(status),
      remediationStrategy: { maxConcurrency: 1, timeout: 240 },
      actions: { afterCompletion: { deleteObjects: this.deleteObjects } },
    };
    const ofJob = this.job.work === 'backup' ? { backup: { status } } : { preCaching: true, precaching: { spec: SPEC, status } };
    this.hub.put(ClusterGroupUpgrade, { metadata: { ...upgrade }, spec, status: { status: {}, ...ofJob, ...parts } } as KubeObject);
    await this.untilCached(ClusterGroupUpgrade, upgrade, by);
  }

  async putCluster(annotations: Readonly<Record<string, string>> = {}, available: 'True' | 'False' = 'True'): Promise<void> {
    const conditions = [agentCondition(CLUSTER_AVAILABLE, available, 'Test')];
    this.hub.put(ManagedCluster, { metadata: { name: SPOKE, annotations }, status: { conditions } } as KubeObject);
    await this.untilCached(ManagedCluster, { name: SPOKE }, [this.leader, this.worker]);
  }

  /** Waits until processes have the object in their caches, and the leader has planned by it. */
  async untilCached(kind: Resource, ref: { namespace?: string; name: string }, by: readonly HubProcess[] = [this.leader]): Promise<void> {
    const version = this.hub.get(kind, ref)?.metadata.resourceVersion;
    const versionIn = ({ caches }: HubProcess) =>
      Object.values(caches)
        .find((cache) => cache.kind.kind === kind.kind)
        ?.get(ref)?.metadata.resourceVersion;
    await settled(() => expect(by.map(versionIn)).toEqual(by.map(() => version)));
    await idle();
  }

  /** Answers a view or an action as the agent does. */
  async answer(kind: Resource, name: string, status: unknown, by: readonly HubProcess[] = [this.leader, this.worker]): Promise<void> {
    const object = this.hub.get(kind, { namespace: SPOKE, name }) ?? expect.fail(`${name} is not there`);
    this.hub.put(kind, { ...object, status } as KubeObject);
    await this.untilCached(kind, { namespace: SPOKE, name }, by);
  }

  /** Takes the steps that wait, in the leader's process. */
  async runSteps(): Promise<void> {
    for (const text of this.steps) {
      this.steps.delete(text);
      const key = parseSpokeKey(text);
      if (key) await this.jobs.step(key, this.stopping.signal);
    }
    await idle();
  }

  /** Takes a step in the worker's process, as a forged job would too. */
  stepElsewhere(key: SpokeKey, signal = this.stopping.signal): Promise<boolean> {
    return createSpokeStep(this.job, { ...this.worker, now: () => this.clock.now() })(key, signal);
  }

  /** Tells whether a step of an upgrade waits, and takes it from the queue. */
  takes(upgrade: UpgradeIdentity): boolean {
    return this.steps.delete(keyText(keyOf(upgrade)));
  }

  /** Names of the views and actions. */
  names(): string[] {
    return [ManagedClusterView, ManagedClusterAction].flatMap((kind) => this.hub.names(kind));
  }

  /** Takes steps, and carries out every action, until the hub has no objects of jobs. */
  untilClean(): Promise<void> {
    return settled(async () => {
      await this.clock.advance(50);
      await this.runSteps();
      for (const name of this.hub.names(ManagedClusterAction)) {
        const action = this.hub.get(ManagedClusterAction, { namespace: SPOKE, name });
        if (action && !('status' in action)) this.hub.put(ManagedClusterAction, { ...action, status: DONE } as KubeObject);
      }
      expect(this.names()).toEqual([]);
    });
  }
}

/** Software of the pulls of a world. */
export const SPEC = { platformImage: 'registry.test/release:1' };

/** Waits for all work: nothing waits for more than promises. */
export async function idle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
