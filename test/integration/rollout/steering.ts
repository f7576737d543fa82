/** Upgrades that are brought into a state, and what is asked of them there: the cells of the sweep over states and requests. */
import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import type { RolloutWorld } from './world.ts';

/** States of an upgrade in which something is asked. */
export const STATES = ['not validated', 'pre-caching', 'gated', 'in a batch', 'soaking', 'between batches', 'ended'] as const;
type State = (typeof STATES)[number];
/** Requests that are made in each. */
export const REQUESTS = ['drain', 'stop', 'retry', 'hold', 'add'] as const;
type Request = (typeof REQUESTS)[number];

const SOAK_SECONDS = 60;
const FAR = '2099-01-01T00:00:00Z';
/** States after which the rollout has begun: who joins does so behind a pull of its own. */
const ROLLOUT: readonly State[] = ['in a batch', 'soaking', 'between batches'];

/** One upgrade of the sweep: brought into a state, asked for something there, and let go. */
export class Cell {
  readonly name: string;
  readonly state: State;
  readonly request: Request;
  /** The first has what holds the state, the second comes after it, the third fails its first pull, the fourth is selected later. */
  readonly clusters: readonly [string, string, string, string];
  readonly #world: RolloutWorld;
  readonly #policy: string;

  constructor(world: RolloutWorld, state: State, request: Request) {
    this.#world = world;
    this.state = state;
    this.request = request;
    this.name = `${STATES.indexOf(state)}-${request}`;
    this.#policy = `p-${this.name}`;
    this.clusters = Cell.clustersOf(state, request);
  }

  static clustersOf(state: State, request: Request): [string, string, string, string] {
    const name = `${STATES.indexOf(state)}-${request}`;
    return [`a-${name}`, `b-${name}`, `bad-${name}`, `new-${name}`];
  }

  /** Jobs that each cluster should have seen in the end. */
  get jobs(): readonly number[] {
    const { state, request } = this;
    const stopped = request === 'stop' && state === 'pre-caching' ? 2 : 1;
    const again = request === 'retry' && (state === 'pre-caching' || state === 'gated' || ROLLOUT.includes(state)) ? 2 : 1;
    return [stopped, 1, again, request === 'add' && state !== 'ended' ? 1 : 0];
  }

  /** Clusters that should be complete in the end. */
  get complete(): readonly string[] {
    const [a, b, bad, late] = this.clusters;
    return [a, b, ...(this.jobs[2] === 2 ? [bad] : []), ...(this.jobs[3] === 1 ? [late] : [])].toSorted();
  }

  /** Creates the upgrade and waits until it is in its state. */
  async begin(): Promise<void> {
    const world = this.#world;
    const [a, b, bad, late] = this.clusters;
    world.spokes.setFaults(bad, { failJob: 1 });
    if (this.state === 'pre-caching') world.spokes.setFaults(a, { jobsHeld: true });
    for (const cluster of [a, b, bad]) await this.#select(cluster);
    if (this.state !== 'not validated') await this.#createPolicy();
    if (this.state === 'in a batch' || this.state === 'between batches') this.#hold(true);
    await world.client.create(ClusterGroupUpgrade, {
      metadata: { namespace: 'default', name: this.name },
      spec: {
        clusterLabelSelectors: [{ matchLabels: { cell: this.name } }],
        managedPolicies: [this.#policy],
        preCaching: true,
        preCachingConfigRef: { name: 'config' },
        enable: this.state !== 'gated',
        remediationStrategy: { maxConcurrency: 1, timeout: 240 },
      },
    });
    await this.#untilThere(a, late);
  }

  async #untilThere(a: string, late: string): Promise<void> {
    const world = this.#world;
    const status = async () => (await world.get(this.name))?.status;
    switch (this.state) {
      case 'not validated':
        return world.untilCondition(this.name, 'Validated', /^False/, PATIENCE);
      case 'pre-caching': {
        const isThere = async () => {
          const states = Object.values((await status())?.precaching?.status ?? {});
          return states.toSorted().join() === 'Active,Succeeded,UnrecoverableError';
        };
        return void (await eventually(isThere, `${this.name} to pull on ${a} alone`, PATIENCE));
      }
      case 'gated':
        return world.untilCondition(this.name, 'Progressing', /NotEnabled/, PATIENCE);
      case 'in a batch':
        return this.#untilInProgress(a);
      case 'soaking': {
        const soaks = async () => (await status())?.status.currentBatchRemediationProgress?.[a]?.firstCompliantAt !== undefined;
        return void (await eventually(soaks, `${a} to soak`, PATIENCE));
      }
      case 'between batches':
        await this.#untilInProgress(a);
        await world.annotate(this.name, { [Annotation.windowStart]: FAR });
        this.#hold(false);
        return world.untilCondition(this.name, 'Progressing', /WaitingForWindow/, PATIENCE);
      case 'ended':
        return this.untilEnded();
      default:
        throw new TypeError(`no way leads to ${late}`);
    }
  }

  async #untilInProgress(cluster: string): Promise<void> {
    const progress = async () => (await this.#world.get(this.name))?.status?.status.currentBatchRemediationProgress?.[cluster]?.state;
    await eventually(async () => (await progress()) === 'InProgress', `${cluster} to be under way in ${this.name}`, PATIENCE);
  }

  /** Asks for it. */
  async ask(): Promise<void> {
    const world = this.#world;
    const [, b, , late] = this.clusters;
    switch (this.request) {
      case 'drain':
      case 'stop':
        return world.annotate(this.name, { [Annotation.paused]: this.request });
      case 'retry':
        return world.annotate(this.name, { [Annotation.retryAt]: '2026-01-01T00:00:00Z' });
      case 'hold':
        return world.annotateCluster(b, { [Annotation.hold]: 'sweep' });
      case 'add':
        await world.annotate(this.name, { [Annotation.membership]: 'add' });
        return void (await this.#select(late));
    }
  }

  /** Waits until the hub has taken it up, where that can be seen. */
  async untilTaken(): Promise<void> {
    const world = this.#world;
    const status = async () => (await world.get(this.name))?.status;
    if (this.state === 'ended') return;
    if (this.request === 'drain' || this.request === 'stop') return world.untilCondition(this.name, 'Paused', /^True Paused/, PATIENCE);
    if (this.request === 'retry' && this.state !== 'not validated')
      await eventually(async () => (await status())?.lastHandledRetryAt !== undefined, `${this.name} to be tried again`, PATIENCE);
    if (this.request === 'add' && ROLLOUT.includes(this.state))
      await eventually(async () => (await status())?.remediationPlan?.flat().includes(this.clusters[3]), `${this.name} to grow`, PATIENCE);
  }

  /** Takes it back. */
  async undo(): Promise<void> {
    if (this.request === 'hold') return this.#world.annotateCluster(this.clusters[1], { [Annotation.hold]: null });
    if (this.request === 'drain' || this.request === 'stop') await this.#world.annotate(this.name, { [Annotation.paused]: null });
  }

  /** Lets the state go. */
  async release(): Promise<void> {
    const world = this.#world;
    if (this.state === 'not validated') await this.#createPolicy();
    if (this.state === 'pre-caching') world.spokes.setFaults(this.clusters[0], {});
    if (this.state === 'gated') await world.edit(this.name, { enable: true });
    if (this.state === 'in a batch') this.#hold(false);
    if (this.state === 'between batches') await world.annotate(this.name, { [Annotation.windowStart]: null });
  }

  async untilEnded(): Promise<void> {
    const isOver = async () => (await this.#world.get(this.name))?.status?.status.completedAt !== undefined;
    await eventually(isOver, () => `${this.name} to end: ${this.#last()}`, PATIENCE);
  }

  #last(): string {
    const { status } = this.#world.history(this.name).sights.at(-1) ?? {};
    return JSON.stringify([status?.conditions?.at(-1), status?.waits, status?.remediationPlan, status?.precaching?.status]);
  }

  #select(cluster: string): Promise<unknown> {
    return this.#world.client.patch(ManagedCluster, { name: cluster }, { metadata: { labels: { cell: this.name } } }, { type: 'merge' });
  }

  async #createPolicy(): Promise<void> {
    const annotations = this.state === 'soaking' ? { [Annotation.soakSeconds]: String(SOAK_SECONDS) } : undefined;
    await this.#world.policies(this.clusters, { [this.#policy]: { ...(annotations && { annotations }) } });
  }

  #hold(never: boolean): void {
    this.#world.propagator.script(`policies/${this.#policy}`, this.clusters[0], never ? { never: true } : { seconds: 0 });
  }
}

/** A sweep runs many upgrades at once, on machines that are busy. */
const PATIENCE = 180_000;
