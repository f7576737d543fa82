/** Learns whether the API server keeps the proofs of an upgrade: the reference's CRD has no field for them. */
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { readProofWithin } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';

/** Milliseconds for which an answer holds: a CRD may be replaced. */
const KEPT_MS = 600_000;
const DROPPED_MS = 30_000;

/** Answer of the server, which is the same for all upgrades. */
export class KeptProofs {
  #answer: { readonly areKept: boolean; readonly askAgainAt: number } | undefined;

  /** False once the server is known to drop proofs. */
  get areKept(): boolean {
    return this.#answer?.areKept ?? true;
  }

  /** Time of the next question about an upgrade that is refused for them, milliseconds since the epoch. */
  get askAgainAt(): number | undefined {
    return this.areKept ? undefined : this.#answer?.askAgainAt;
  }

  /** Asks by a write that changes nothing, where an upgrade wants proofs and the last answer is old. */
  async learn(upgrade: ClusterGroupUpgrade, { client, now }: { readonly client: Client; readonly now: number }): Promise<void> {
    if (readProofWithin(upgrade).withinMs === undefined || now < (this.#answer?.askAgainAt ?? 0)) return;
    const status = { precaching: { proofs: [] } };
    const options = { type: 'merge', subresource: 'status', dryRun: true } as const;
    const answer = await client.patch(ClusterGroupUpgrade, upgrade.metadata, { status }, options);
    const areKept = answer.status?.precaching?.proofs !== undefined;
    this.#answer = { areKept, askAgainAt: now + (areKept ? KEPT_MS : DROPPED_MS) };
  }
}
