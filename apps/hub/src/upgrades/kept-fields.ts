/** Learns which fields of a status the API server keeps: its CRD may be older, or the reference's without our additions. */
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { readProofWithin } from '@flotilla/rollout';
import { type Client, type DroppedFields, findDropped, isAllDropped } from '@flotilla/runtime';

/** Milliseconds for which an answer about proofs holds: a CRD may be replaced. */
const KEPT_MS = 600_000;
const DROPPED_MS = 30_000;

/** Fields that the server drops, of any upgrade: upgrades share a CRD. */
export class KeptFields {
  #dropped: DroppedFields = {};
  #askedAt = Number.NEGATIVE_INFINITY;

  /** False once the server is known to drop packed parts of a status. */
  get isPackedKept(): boolean {
    return this.#dropped.packed !== true;
  }

  /** False once the server is known to drop proofs of pre-caching. */
  get areProofsKept(): boolean {
    const { precaching } = this.#dropped;
    return precaching === undefined || (precaching !== true && precaching.proofs !== true);
  }

  /** Time of the next question about an upgrade that is refused for its proofs, milliseconds since the epoch. */
  get askAgainAt(): number | undefined {
    return this.areProofsKept ? undefined : this.#askedAt + DROPPED_MS;
  }

  /** True when a merge patch of a status has only dropped fields, so that sending it would change nothing. */
  changesNothing(patch: unknown): boolean {
    return isAllDropped(patch, this.#dropped);
  }

  /** Learns from the answer to a write. */
  learn(sent: unknown, stored: unknown): void {
    this.#dropped = findDropped(sent, stored, this.#dropped);
  }

  /** Asks by a write that changes nothing, where an upgrade wants proofs and the last answer is old: no write has had proofs before its start. */
  async ask(upgrade: ClusterGroupUpgrade, { client, now }: { readonly client: Client; readonly now: number }): Promise<void> {
    const isRecent = now < this.#askedAt + (this.areProofsKept ? KEPT_MS : DROPPED_MS);
    if (isRecent || readProofWithin(upgrade).withinMs === undefined) return;
    const status = { precaching: { proofs: [] } };
    const answer = await client.patch(
      ClusterGroupUpgrade,
      upgrade.metadata,
      { status },
      { type: 'merge', subresource: 'status', dryRun: true },
    );
    // A part that holds nothing but dropped fields may be left out whole, and is kept all the same.
    this.learn(status, { precaching: {}, ...answer.status });
    this.#askedAt = now;
  }
}
