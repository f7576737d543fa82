import type { Clock } from '@flotilla/pace';
import { z } from 'zod';
import type { CriConnection } from '../socket/connection.ts';
import { callContainerd } from '../socket/containerd.ts';
import { Containerd } from '../socket/containerd-protocol.ts';

/** Name of all leases of this program. */
const PREFIX = 'flotilla-precache-';
/** Label with the time after which containerd's collector ignores a lease. */
const EXPIRE_LABEL = 'containerd.io/gc.expire';
/** Life of a lease: what a run that never comes back leaves is collected after it. */
const LIFE_MS = 24 * 3_600_000;

const LeasesAnswer = z.object({ leases: z.array(z.object({ id: z.string(), labels: z.record(z.string(), z.string()).default({}) })) });
const ResourcesAnswer = z.object({ resources: z.array(z.object({ id: z.string(), type: z.string() })) });

/** A lease as containerd lists it. */
interface Lease {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The lease to write under, and older ones whose content it takes over. */
interface LeaseChoice {
  readonly id: string;
  readonly isNew: boolean;
  readonly takesOver: readonly string[];
}

/** Chooses among the node's leases: ours that lasts longest when half of its life is left, else a new one. */
export function chooseLease(leases: readonly Lease[], now: number): LeaseChoice {
  const own = leases
    .filter(({ id }) => id.startsWith(PREFIX))
    .map(({ id, labels }) => ({ id, leftMs: Date.parse(labels[EXPIRE_LABEL] ?? '') - now || 0 }))
    .toSorted((a, b) => b.leftMs - a.leftMs);
  const [longest] = own;
  const usable = longest && longest.leftMs >= LIFE_MS / 2 ? longest : undefined;
  const id = usable?.id ?? `${PREFIX}${now}`;
  return { id, isNew: !usable, takesOver: own.map((lease) => lease.id).filter((other) => other !== id) };
}

/**
 * Holds content in containerd's store, for this run and the next after a kill. containerd does not prolong a lease, so a new one takes over the
 * content of the old.
 */
export class ContentLease {
  readonly #connection: CriConnection;
  readonly #clock: Clock;
  #held: { readonly id: Promise<string>; readonly until: number } | undefined;

  constructor(connection: CriConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /**
   * Returns the lease to write under.
   * @throws StoreError where containerd's services are missing or refuse
   */
  hold(signal: AbortSignal): Promise<string> {
    const now = this.#clock.now();
    if (this.#held && now < this.#held.until) return this.#held.id;
    const id = this.#open(now, signal);
    this.#held = { id, until: now + LIFE_MS / 4 };
    id.catch(() => this.forget());
    return id;
  }

  /** Forgets the lease, when containerd no longer knows it. */
  forget(): void {
    this.#held = undefined;
  }

  /** Deletes all leases of this program: the collector takes what no image uses. */
  async release(signal: AbortSignal): Promise<void> {
    this.forget();
    for (const { id } of await this.#list(signal)) if (id.startsWith(PREFIX)) await this.#delete(id, signal);
  }

  async #open(now: number, signal: AbortSignal): Promise<string> {
    const { id, isNew, takesOver } = chooseLease(await this.#list(signal), now);
    const asked = { connection: this.#connection, signal };
    if (isNew) {
      const labels = { [EXPIRE_LABEL]: new Date(now + LIFE_MS).toISOString() };
      await callContainerd(asked, Containerd.createLease, { id, labels });
    }
    // An old lease goes last: whatever ends this run, its content is held.
    for (const old of takesOver) {
      const { resources } = await callContainerd(asked, Containerd.listResources, { id: old }, ResourcesAnswer);
      for (const resource of resources) await callContainerd(asked, Containerd.addResource, { id, resource });
      await this.#delete(old, signal);
    }
    return id;
  }

  async #list(signal: AbortSignal): Promise<Lease[]> {
    const asked = { connection: this.#connection, signal };
    return (await callContainerd(asked, Containerd.listLeases, { filters: [] }, LeasesAnswer)).leases;
  }

  async #delete(id: string, signal: AbortSignal): Promise<void> {
    await callContainerd({ connection: this.#connection, signal }, Containerd.deleteLease, { id, sync: false });
  }
}
