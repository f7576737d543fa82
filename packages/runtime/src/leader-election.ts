import { errorMessage, type Ref, refKey } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import { type Clock, pause, systemClock } from '@flotilla/pace';
import type { Client } from './client.ts';
import { isAlreadyExists, isConflict } from './errors.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** Times of a lease, in milliseconds. */
export interface LeaseTimes {
  /** Another may take over this long after our last renewal that it saw. Default 15 000; whole seconds. */
  readonly leaseDurationMs?: number;
  /** Without a renewal for this long we stop leading. Less than the duration. Default 10 000. */
  readonly renewDeadlineMs?: number;
  /** Between attempts. Default 2 000. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
}

/** Contender, lease, and work of the holder. */
export interface LeaseOptions extends LeaseTimes {
  readonly client: Client;
  /** Namespace and name of the Lease. */
  readonly ref: Ref;
  /** Identity of this contender; unique per process. */
  readonly identity: string;
  /** The work; ends soon after its signal aborts (lease lost or stopped). When it ends by itself, so does the election. */
  readonly onStartedLeading: (signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

const MIN_RETRY_MS = 250;

/** The lease as last seen, and when: by our own clock, so that clocks that disagree do no harm. */
interface Observation {
  readonly lease: Lease;
  readonly at: number;
}

/**
 * Contends for a Lease, leads, contends again after losing it, until `signal` aborts or `onStartedLeading` ends by itself (its
 * error is thrown). At most one contender leads: writes carry the resourceVersion they were decided on, and a leader stops
 * `leaseDurationMs - renewDeadlineMs` before anybody else may start. A stop gives the lease back.
 */
export async function runWithLease(options: LeaseOptions): Promise<void> {
  const election = new Election(options);
  while (!options.signal.aborted) {
    if (!(await election.acquire())) return;
    if (await election.lead()) return;
  }
}

class Election {
  readonly #options: Required<Omit<LeaseOptions, 'logger' | 'metrics'>> & Pick<LeaseOptions, 'logger' | 'metrics'>;
  readonly #now: () => number;
  #seen: Observation | undefined;
  #renewedAt = 0;

  constructor(options: LeaseOptions) {
    const defaults = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000, clock: systemClock };
    this.#options = { ...defaults, ...definedOnly(options) };
    // A monotonic clock, unless a test brings its own: a step of the wall clock must not end or extend a lease.
    this.#now = options.clock ? () => this.#options.clock.now() : () => performance.now();
  }

  /** True once the lease is ours, false when stopped. */
  async acquire(): Promise<boolean> {
    const { signal, clock, retryPeriodMs, logger, ref } = this.#options;
    let holder: string | undefined;
    while (!signal.aborted) {
      try {
        if (await this.#tryAcquire()) return true;
        const current = this.#seen?.lease.spec?.holderIdentity ?? '';
        if (current !== holder) logger?.info({ lease: refKey(ref), leader: current }, 'Waiting for the lease');
        holder = current;
      } catch (error) {
        if (!signal.aborted) logger?.warn({ lease: refKey(ref), reason: errorMessage(error) }, 'Acquiring the lease failed, trying again');
      }
      await pause(clock, retryPeriodMs * (1 + Math.random() * 0.2), signal);
    }
    return false;
  }

  /** Leads until the lease is lost (false), or until stopped or the work ended (true). */
  async lead(): Promise<boolean> {
    const { signal, logger, metrics, ref, onStartedLeading } = this.#options;
    const lease = { lease: refKey(ref) };
    const leading = new AbortController();
    const stop = (): void => leading.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    logger?.info(lease, 'Leading');
    metrics?.leader.set(lease, 1);
    let ended = false;
    const work = (async () => onStartedLeading(leading.signal))().finally(() => {
      ended = true;
      leading.abort();
    });
    // Awaited below; until then its failure must not count as unhandled.
    work.catch(() => undefined);
    try {
      const kept = await this.#renewUntil(leading.signal);
      if (!kept) logger?.error(lease, 'Losing the lease');
      leading.abort();
      const endedByItself = ended && !signal.aborted;
      await work.catch((error: unknown) => {
        // An aborted work throws the abort.
        if (endedByItself) throw error;
      });
      return kept;
    } finally {
      metrics?.leader.set(lease, 0);
      signal.removeEventListener('abort', stop);
      await this.#release();
    }
  }

  /** True when the signal aborted while the lease was ours, false when it was lost. */
  async #renewUntil(signal: AbortSignal): Promise<boolean> {
    const { clock, retryPeriodMs, renewDeadlineMs, logger, ref } = this.#options;
    for (;;) {
      const leftMs = (): number => renewDeadlineMs - (this.#now() - this.#renewedAt);
      // Nearer the deadline oftener, so that the last attempt does not fall upon it.
      await pause(clock, Math.min(retryPeriodMs, Math.max(MIN_RETRY_MS, leftMs() / 2)), signal);
      if (signal.aborted) return true;
      if (leftMs() <= 0) return false;
      try {
        if (!(await this.#tryAcquire(leftMs()))) return false;
      } catch (error) {
        logger?.warn({ lease: refKey(ref), reason: errorMessage(error) }, 'Renewing the lease failed, trying again');
      }
    }
  }

  /** One read if needed and one write; false when the lease is another's. */
  async #tryAcquire(withinMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { client, identity, renewDeadlineMs } = this.#options;
    const startedAt = this.#now();
    // A leader hears within its deadline, or it stops; so no call may outlast what is left of it.
    const timeoutMs = Math.ceil(Math.min(5_000, renewDeadlineMs / 2, withinMs));
    try {
      if (!this.#isOurs()) await this.#look(timeoutMs);
      if (this.#seen && !this.#isOurs() && !this.#isFree(this.#seen)) return false;
      const desired = this.#desired(this.#seen?.lease);
      const lease = this.#seen ? await client.replace(Lease, desired, { timeoutMs }) : await client.create(Lease, desired, { timeoutMs });
      this.#seen = { lease, at: startedAt };
      this.#renewedAt = startedAt;
      return true;
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      // Somebody wrote in between. Ours still (our own write whose answer was lost, a label) or another's: look.
      await this.#look(timeoutMs);
      if (this.#seen?.lease.spec?.holderIdentity !== identity) return false;
      throw error;
    }
  }

  async #look(timeoutMs: number): Promise<void> {
    const { client, ref } = this.#options;
    const lease = await client.get(Lease, ref, { timeoutMs });
    if (!lease) this.#seen = undefined;
    else if (!this.#seen || this.#seen.lease.metadata.resourceVersion !== lease.metadata.resourceVersion)
      this.#seen = { lease, at: this.#now() };
  }

  #isOurs(): boolean {
    return this.#seen?.lease.spec?.holderIdentity === this.#options.identity;
  }

  #isFree({ lease, at }: Observation): boolean {
    if (!lease.spec?.holderIdentity) return true;
    const durationMs = (lease.spec.leaseDurationSeconds ?? this.#options.leaseDurationMs / 1000) * 1000;
    return this.#now() - at > durationMs;
  }

  #desired(current: Lease | undefined): Lease {
    const { ref, identity, leaseDurationMs, clock } = this.#options;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const ours = current?.spec?.holderIdentity === identity;
    return {
      ...current,
      metadata: { ...current?.metadata, ...ref },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: ours ? current?.spec?.acquireTime : now,
        renewTime: now,
        leaseTransitions: (current?.spec?.leaseTransitions ?? 0) + (current && !ours ? 1 : 0),
      },
    };
  }

  /** Lets the next contender in at once. Best effort: without it the lease runs out. */
  async #release(): Promise<void> {
    const { client, logger, ref } = this.#options;
    const lease = this.#seen?.lease;
    if (!lease || !this.#isOurs()) return;
    try {
      const free = { ...lease, spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 } };
      await client.replace(Lease, free, { timeoutMs: 3_000 });
    } catch (error) {
      logger?.debug({ lease: refKey(ref), reason: errorMessage(error) }, 'Releasing the lease failed');
    } finally {
      this.#seen = undefined;
    }
  }
}

/** Options given as undefined take their defaults too. */
const definedOnly = <O extends object>(options: O): O =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
