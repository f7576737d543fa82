import type { Clock } from '@flotilla/runtime';
import { createRandom } from '../../random.ts';
import { createTimerHeap, type HeapTimer } from '../timer-heap.ts';
import type { Action } from './policy-replication.ts';

/** States a cluster reports; absent: it has not reported yet. */
export type ComplianceState = 'Compliant' | 'NonCompliant' | 'Pending';

/** Answers of one cluster to one policy. */
export interface ComplianceScript {
  /** Complies before anything is enforced. */
  readonly already?: boolean;
  /** Stays NonCompliant, enforced or not. */
  readonly never?: boolean;
  /** Reports nothing. */
  readonly silent?: boolean;
  /** Seconds from enforced to Compliant; default: the run's, with its jitter. */
  readonly seconds?: number;
  /** Once: NonCompliant again so many seconds after it became Compliant; with `recoverSeconds`, Compliant again that long after. */
  readonly relapse?: { readonly afterSeconds: number; readonly recoverSeconds?: number };
}

/** Demands of a policy on a cluster. */
export interface Demand {
  readonly action: Action;
  /** Equal while the policy's templates are. Another value: whoever complied has to do so again. */
  readonly templates: string;
  /** Keys of policies that must be Compliant on the cluster first. */
  readonly dependencies: readonly string[];
}

/** Something that happened to a policy on a cluster, at milliseconds since the epoch. */
export interface ComplianceEvent {
  readonly atMs: number;
  /** `namespace/name`. */
  readonly policy: string;
  readonly cluster: string;
  readonly what: 'enforced' | 'released' | 'removed' | ComplianceState;
}

interface Entry {
  readonly policy: string;
  readonly cluster: string;
  demand: Demand;
  state?: ComplianceState;
  timer?: HeapTimer;
  relapsed: boolean;
}

interface SimulatedComplianceOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** Seconds from enforced to Compliant, and the part of them that varies: 0.2 is plus or minus 20 %. */
  readonly compliance: { readonly seconds: number; readonly jitter: number };
  readonly onChange: (policy: string, cluster: string) => void;
}

/** Clusters that become Compliant a while after a policy is enforced on them; nothing is evaluated for real. */
export class SimulatedCompliance {
  /** Events so far, in order. */
  readonly events: ComplianceEvent[] = [];
  readonly #options: SimulatedComplianceOptions;
  readonly #timers;
  readonly #clusters = new Map<string, Map<string, Entry>>();
  readonly #scripts = new Map<string, ComplianceScript>();

  constructor(options: SimulatedComplianceOptions) {
    this.#options = options;
    this.#timers = createTimerHeap(options.clock);
  }

  /** The policy is on the cluster, like this. */
  place(policy: string, cluster: string, demand: Demand): void {
    const policies = this.#clusters.get(cluster) ?? new Map<string, Entry>();
    this.#clusters.set(cluster, policies);
    const entry = policies.get(policy) ?? { policy, cluster, demand: { ...demand, action: 'own' }, relapsed: false };
    policies.set(policy, entry);
    const before = entry.demand;
    entry.demand = demand;
    if (before.action !== demand.action) this.#record(entry, demand.action === 'enforce' ? 'enforced' : 'released');
    if (before.templates !== demand.templates) this.#start(entry);
    else this.#evaluate(entry);
  }

  /** The policy is no longer on the cluster. */
  remove(policy: string, cluster: string): void {
    const entry = this.#clusters.get(cluster)?.get(policy);
    if (!entry) return;
    this.#disarm(entry);
    this.#clusters.get(cluster)?.delete(policy);
    this.#record(entry, 'removed');
    this.#wakeDependents(entry);
  }

  state(policy: string, cluster: string): ComplianceState | undefined {
    return this.#clusters.get(cluster)?.get(policy)?.state;
  }

  /** From now on the cluster answers to the policy like this; who complies stays so unless the script forbids it. */
  script(policy: string, cluster: string, script: ComplianceScript): void {
    this.#scripts.set(`${policy} ${cluster}`, script);
    const entry = this.#clusters.get(cluster)?.get(policy);
    if (!entry) return;
    if (entry.state !== 'Compliant' || script.never || script.silent) this.#start(entry);
  }

  /** The cluster reports this now; what is enforced and NonCompliant is mended again as its script says. */
  set(policy: string, cluster: string, state: ComplianceState): void {
    const entry = this.#clusters.get(cluster)?.get(policy);
    if (!entry) throw new RangeError(`policy ${policy} is not on cluster ${cluster}: place it first`);
    this.#disarm(entry);
    this.#become(entry, state);
    this.#evaluate(entry);
  }

  stop(): void {
    this.#timers.stop();
  }

  #scriptOf({ policy, cluster }: Entry): ComplianceScript {
    return this.#scripts.get(`${policy} ${cluster}`) ?? {};
  }

  /** Judges from the beginning. */
  #start(entry: Entry): void {
    this.#disarm(entry);
    entry.relapsed = false;
    const { already, silent } = this.#scriptOf(entry);
    if (silent) this.#become(entry, undefined);
    else this.#become(entry, this.#isBlocked(entry) ? 'Pending' : already ? 'Compliant' : 'NonCompliant');
    this.#evaluate(entry);
  }

  #evaluate(entry: Entry): void {
    const { never, silent, seconds } = this.#scriptOf(entry);
    if (silent) return;
    const blocked = this.#isBlocked(entry);
    if (blocked !== (entry.state === 'Pending') || entry.state === undefined) return this.#start(entry);
    if (entry.state !== 'NonCompliant') return;
    if (never || entry.demand.action !== 'enforce') return this.#disarm(entry);
    // A relapse is mended only by its own clock.
    if (!entry.relapsed) this.#arm(entry, seconds ?? this.#usualSeconds(entry), () => this.#comply(entry));
  }

  #comply(entry: Entry): void {
    this.#become(entry, 'Compliant');
    const { relapse } = this.#scriptOf(entry);
    if (!relapse || entry.relapsed) return;
    this.#arm(entry, relapse.afterSeconds, () => {
      entry.relapsed = true;
      this.#become(entry, 'NonCompliant');
      if (relapse.recoverSeconds !== undefined) this.#arm(entry, relapse.recoverSeconds, () => this.#become(entry, 'Compliant'));
    });
  }

  #become(entry: Entry, state: ComplianceState | undefined): void {
    if (entry.state === state) return;
    entry.state = state;
    if (state) this.#record(entry, state);
    this.#options.onChange(entry.policy, entry.cluster);
    this.#wakeDependents(entry);
  }

  #isBlocked({ demand, cluster }: Entry): boolean {
    return demand.dependencies.some((policy) => this.state(policy, cluster) !== 'Compliant');
  }

  #wakeDependents({ policy, cluster }: Entry): void {
    for (const other of this.#clusters.get(cluster)?.values() ?? []) if (other.demand.dependencies.includes(policy)) this.#evaluate(other);
  }

  #usualSeconds({ policy, cluster }: Entry): number {
    const { seed, compliance } = this.#options;
    return compliance.seconds * (1 + compliance.jitter * (2 * createRandom(seed, `${policy} ${cluster}`)() - 1));
  }

  /** One timer at a time; the first stays. */
  #arm(entry: Entry, seconds: number, fn: () => void): void {
    entry.timer ??= this.#timers.after(seconds * 1000, () => {
      entry.timer = undefined;
      fn();
    });
  }

  #disarm(entry: Entry): void {
    entry.timer?.[Symbol.dispose]();
    entry.timer = undefined;
  }

  #record({ policy, cluster }: Entry, what: ComplianceEvent['what']): void {
    this.events.push({ atMs: this.#options.clock.now(), policy, cluster, what });
  }
}
