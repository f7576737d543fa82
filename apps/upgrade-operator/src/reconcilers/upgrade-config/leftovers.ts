import { errorMessage } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import type { Clock, Logger } from '@flotilla/runtime';
import { channelReturn, type ObservedMachines, surgeRemains } from '@flotilla/upgrade';
import type { ClusterWrites } from '../../cluster-writes.ts';
import type { Silences } from '../../ports.ts';
import { Retries } from './retries.ts';

interface LeftoversDeps {
  readonly writes: Pick<ClusterWrites, 'deleteMachineSet' | 'patchClusterVersion'>;
  readonly silences: Pick<Silences, 'endControlPlane' | 'endWorkers'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told why something cannot be taken back, when that is news. */
  readonly tell: (note: string) => void;
  /** Longest time between two tries. */
  readonly retryMs: number;
}

interface TakenBack {
  /** The MachineSets or the ClusterVersion are not as they were observed any more. */
  readonly hasWritten: boolean;
  /** Milliseconds until the next try; undefined when nothing is left to do. */
  readonly afterMs?: number;
  /** Why something cannot be taken back yet, and of which object. */
  readonly problem?: string;
}

/**
 * Takes back the extra workers, channel and silences of an upgrade that is no more. The process that made them may be dead and its
 * UpgradeConfig gone: they are found in the cluster, and each process asks Alertmanager once.
 */
export class Leftovers {
  readonly #deps: LeftoversDeps;
  readonly #retries: Retries;
  #mayBeSilenced = true;
  #isOwed = false;
  #problem: string | undefined;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(deps: LeftoversDeps) {
    this.#deps = deps;
    this.#retries = new Retries(deps.retryMs);
  }

  /** An upgrade was under way that will not end its silences itself. */
  expectSilences(): void {
    this.#mayBeSilenced = true;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  /** An upgrade was withdrawn: what it made has to go, whatever else changes the cluster. */
  owe(): void {
    this.#isOwed = true;
    this.expectSilences();
  }

  get isOwed(): boolean {
    return this.#isOwed;
  }

  /** True when the caches show extra workers or a channel to set back. */
  isSeen(machines: ObservedMachines, clusterVersion: ClusterVersion | undefined): boolean {
    return surgeRemains(machines).sets.length > 0 || (clusterVersion !== undefined && channelReturn(clusterVersion) !== undefined);
  }

  /** Takes back what is there, as far as that can be done now. */
  async takeBack(machines: ObservedMachines, clusterVersion: ClusterVersion | undefined, signal: AbortSignal): Promise<TakenBack> {
    const { writes, silences, clock } = this.#deps;
    if (!this.#mayBeSilenced && !this.isSeen(machines, clusterVersion)) return { hasWritten: false };
    if (this.#retryAt > clock.now()) return { hasWritten: false, afterMs: this.#retryAt - clock.now(), ...this.#said };
    const channel = clusterVersion && channelReturn(clusterVersion);
    const inCluster = [
      ...surgeRemains(machines).sets.map((set) => writes.deleteMachineSet(set, signal)),
      ...(channel ? [writes.patchClusterVersion(clusterVersion, channel, signal)] : []),
    ];
    const results = await Promise.allSettled([
      ...inCluster,
      ...(this.#mayBeSilenced ? [silences.endControlPlane(signal).then(() => silences.endWorkers(signal))] : []),
    ]);
    signal.throwIfAborted();
    const hasWritten = results.slice(0, inCluster.length).some(({ status }) => status === 'fulfilled');
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [errorMessage(result.reason)] : []));
    if (failures.length === 0) {
      this.#mayBeSilenced = false;
      this.#isOwed = false;
      this.#problem = undefined;
      this.#retries.reset();
      return { hasWritten };
    }
    return { hasWritten, afterMs: this.#fail(failures.join('; ')), ...this.#said };
  }

  get #said(): Pick<TakenBack, 'problem'> {
    return this.#problem === undefined ? {} : { problem: this.#problem };
  }

  /** Milliseconds until the next try. */
  #fail(reason: string): number {
    const { clock, logger, tell } = this.#deps;
    this.#problem = `What an ended upgrade left cannot be taken back yet: ${reason}`;
    if (this.#retries.isNews('leftovers', reason)) {
      logger.warn({ reason }, 'What an ended upgrade left cannot be taken back yet');
      tell(this.#problem);
    }
    const waitMs = this.#retries.after('leftovers');
    this.#retryAt = clock.now() + waitMs;
    return waitMs;
  }
}
