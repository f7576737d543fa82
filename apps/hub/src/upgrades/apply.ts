import { Label, mergePatch, perObject } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { takenUpValue } from '@flotilla/rollout';
import {
  type Client,
  type EventRecorder,
  isNotFound,
  type Logger,
  patchStatus,
  RefusedValues,
  refusedText,
  type SentStatus,
} from '@flotilla/runtime';
import { withWholeStatus } from '../trims.ts';
import { fitStatus } from './status-budget.ts';

/** Memory of what a server takes of a status. */
interface StatusWriting {
  readonly client: Client;
  /** Learns from the answer; all upgrades share it. */
  readonly kept: KeptFields;
  /** Last status of this upgrade. */
  readonly sent: SentStatus;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Learns from refusals. Default: a value that is refused refuses the status. */
  readonly refused?: RefusedValues;
}

/**
 * Patches the changes of the status, if any; values that the server refuses are left out, and nothing is packed where it would drop what is packed.
 * A conflict means that the name belongs to another object, or that the object has changed since: a stale cache must not undo our own last write.
 * @returns the upgrade as stored, with its status in full; undefined without a write
 */
export async function writeStatus(
  upgrade: ClusterGroupUpgrade,
  desired: ClusterGroupUpgradeStatus,
  { client, kept, sent, refused, now }: StatusWriting,
): Promise<ClusterGroupUpgrade | undefined> {
  let changes = changesOf(upgrade, desired, kept);
  if (changes?.fitted.packed) {
    await kept.ask(upgrade, { client, now });
    if (!kept.isPackedKept) changes = changesOf(upgrade, desired, kept);
  }
  if (!changes) return undefined;
  const { before, fitted } = changes;
  const answer = await patchStatus(client, ClusterGroupUpgrade, { ...upgrade, status: before }, fitted, { refused, sent });
  if (!answer) return undefined;
  kept.learn(refused?.without(fitted) ?? fitted, answer.status);
  return withWholeStatus(answer);
}

/**
 * Takes an upgrade up, or lets it go, by our finalizer; the resourceVersion guards other finalizers. An upgrade that is already gone needs neither.
 * @param marks its uid goes into a label, by which a copy of the object is told from it
 */
export async function writeFinalizer(upgrade: ClusterGroupUpgrade, wanted: boolean, client: Client, marks = false): Promise<void> {
  const { uid, resourceVersion, finalizers = [] } = upgrade.metadata;
  const others = finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
  const patch = {
    metadata: {
      uid,
      resourceVersion,
      finalizers: wanted ? [...others, CLEANUP_FINALIZER] : others,
      ...(marks && { labels: { [Label.takenUp]: takenUpValue(upgrade) } }),
    },
  };
  try {
    await client.patch(ClusterGroupUpgrade, upgrade.metadata, patch, { type: 'merge' });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** A stored status as it fits, made once: it is compared with many that it might become. */
const packedFit = perObject((status: ClusterGroupUpgradeStatus) => fitStatus(status, { canPack: true }));
const plainFit = perObject((status: ClusterGroupUpgradeStatus) => fitStatus(status, { canPack: false }));

/** The status before and after a write, as both fit; undefined where they are the same. */
export function changesOf(
  { status }: ClusterGroupUpgrade,
  desired: ClusterGroupUpgradeStatus,
  kept: Pick<KeptFields, 'isPackedKept'>,
): { readonly before: ClusterGroupUpgradeStatus | undefined; readonly fitted: ClusterGroupUpgradeStatus } | undefined {
  const canPack = kept.isPackedKept;
  const fitted = fitStatus(desired, { canPack });
  const before = status && (canPack ? packedFit : plainFit)(status);
  return mergePatch(before ?? {}, fitted) === undefined ? undefined : { before, fitted };
}

/** Remembers values that the served definition refuses; the event is about the definition, because it is older than the status. */
export function refusedValues({
  recorder,
  logger,
}: {
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
}): RefusedValues {
  const { apiVersion, kind, plural } = CustomResourceDefinition;
  const name = `${ClusterGroupUpgrade.plural}.${ClusterGroupUpgrade.apiVersion.split('/')[0]}`;
  return new RefusedValues({
    tell: (value) => {
      logger.warn(
        { definition: `${plural} ${name}`, reason: refusedText(value) },
        'The server does not take a value of a status, which is left out',
      );
      const regarding = { apiVersion, kind, name };
      recorder.record({ type: 'Warning', reason: 'StatusValueRefused', action: 'WriteStatus', note: refusedText(value), regarding });
    },
  });
}

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
