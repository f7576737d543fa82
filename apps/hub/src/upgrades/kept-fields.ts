/** Learns whether the API server keeps the additions to a status without which something is lost: its CRD may be older, or the reference's. */
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';

/** Milliseconds for which an answer holds: a CRD may be replaced. */
const KEPT_MS = 600_000;
const DROPPED_MS = 30_000;

/** Additions that the server keeps, of any upgrade: upgrades share a CRD. */
export class KeptFields {
  #isPackedKept = true;
  #areProofsKept = true;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** False once the server is known to drop packed parts of a status. */
  get isPackedKept(): boolean {
    return this.#isPackedKept;
  }

  /** False once the server is known to drop proofs of pre-caching. */
  get areProofsKept(): boolean {
    return this.#areProofsKept;
  }

  /** Time of the next question about an upgrade that is refused for its proofs, milliseconds since the epoch. */
  get askAgainAt(): number | undefined {
    return this.areProofsKept ? undefined : this.#askedAt + DROPPED_MS;
  }

  /** Learns from the answer to a write. */
  learn(sent: ClusterGroupUpgradeStatus, stored: ClusterGroupUpgradeStatus | undefined): void {
    if (sent.packed) this.#isPackedKept = stored?.packed !== undefined;
    if (sent.precaching?.proofs) this.#areProofsKept = stored?.precaching?.proofs !== undefined;
  }

  /** Asks by a write that changes nothing, before the first that needs the answer, and where the last answer is old. */
  async ask({ metadata }: ClusterGroupUpgrade, { client, now }: { readonly client: Client; readonly now: number }): Promise<void> {
    if (now < this.#askedAt + (this.isPackedKept && this.areProofsKept ? KEPT_MS : DROPPED_MS)) return;
    const status = { packed: {}, precaching: { proofs: [] } };
    const answer = await client.patch(ClusterGroupUpgrade, metadata, { status }, { type: 'merge', subresource: 'status', dryRun: true });
    this.learn({ status: {}, ...status }, answer.status);
    this.#askedAt = now;
  }
}
