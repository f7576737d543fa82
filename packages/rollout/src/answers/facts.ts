/** Facts that an answer rests on, and figures by how sure they are. The caller reads the objects; nothing is read here. */
import { describeUnprocessed, findCondition, isSpecUnprocessed, managedFieldsOf, type ObjectMeta } from '@flotilla/api';
import type { Figure, HubSign, StatusAnswer } from '@flotilla/api/answers';
import type { Lease } from '@flotilla/api/core';
import type { ManagedCluster, ManagedClusterAction, ManifestWork, Policy } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import type { UpgradeRef } from '../upgrade/identity.ts';
import type { PolicyRef } from '../upgrade/model.ts';

/** An object as it was read, or why it was not. Skipped: nobody wanted it, which is no gap. */
export type Seen<T> =
  | { readonly kind: 'read'; readonly object: T | undefined }
  | { readonly kind: 'unread'; readonly why: string }
  | { readonly kind: 'skipped' };

/** Everything that answers about one upgrade rest on. */
export interface UpgradeFacts {
  /** With its status in full. */
  readonly upgrade: ClusterGroupUpgrade;
  readonly now: number;
  /** The Lease by which hubs lead. */
  readonly hub: Seen<Lease>;
  readonly cluster: (name: string) => Seen<ManagedCluster>;
  /** The Lease that the agent of a cluster renews. */
  readonly agentLease: (cluster: string) => Seen<Lease>;
  readonly upgradeAt: (ref: UpgradeRef) => Seen<ClusterGroupUpgrade>;
  /** The copy of a policy in the namespace of a cluster. */
  readonly policyCopy: (policy: PolicyRef, cluster: string) => Seen<Policy>;
  readonly policy: (policy: PolicyRef) => Seen<Policy>;
  /** Actions of rollouts on a cluster: approvals of InstallPlans. */
  readonly approvals: (cluster: string) => Seen<readonly ManagedClusterAction[]>;
  /** The ManifestWork of a template on a cluster. */
  readonly work: (cluster: string, template: string) => Seen<ManifestWork>;
}

const skip = () => ({ kind: 'skipped' }) as const;

/** For answers about thousands of clusters: nothing that is read for a single one. */
export const NOTHING_OF_CLUSTERS = { agentLease: skip, policyCopy: skip, policy: skip, approvals: skip, work: skip } as const;

/** The object, where it was read and is there. */
export const objectOf = <T>(seen: Seen<T>): T | undefined => (seen.kind === 'read' ? seen.object : undefined);

/** When the status of an object was written last, as the API server noted it. */
export function statusWrittenAt({ metadata }: { readonly metadata: ObjectMeta }): string | undefined {
  return managedFieldsOf(metadata)
    .flatMap(({ subresource, time }) => (subresource === 'status' && time !== undefined ? [time] : []))
    .reduce<string | undefined>((latest, time) => (latest === undefined || time > latest ? time : latest), undefined);
}

/** A Lease counts as old after so many of its durations. */
const DURATIONS = 2;
/** Duration of a Lease that states none. */
const DURATION_SECONDS = 15;

/** True for a Lease that nobody has renewed within twice its duration. */
export function isStale({ spec }: Lease, now: number): boolean {
  const renewed = Date.parse(spec?.renewTime ?? '');
  return !(now - renewed <= (spec?.leaseDurationSeconds || DURATION_SECONDS) * DURATIONS * 1000);
}

/** Judges the hub by its Lease; `silent` when nobody holds the Lease or it is stale. */
export function judgeHub(hub: Seen<Lease>, now: number): HubSign {
  if (hub.kind !== 'read') return { state: 'unseen', why: hub.kind === 'unread' ? hub.why : 'it was not looked at' };
  if (!hub.object)
    return { state: 'unseen', why: 'no Lease of a hub was found: see that its pods run, or name their namespace with --hub-namespace' };
  const { holderIdentity, renewTime } = hub.object.spec ?? {};
  const sign = { ...(holderIdentity && { holder: holderIdentity }), ...(renewTime && { renewedAt: renewTime }) };
  return { state: holderIdentity && !isStale(hub.object, now) ? 'leads' : 'silent', ...sign };
}

/** Edits that no hub has processed, or that came too late to count; undefined where there are none. */
export function describeEdits(upgrade: ClusterGroupUpgrade): StatusAnswer['edits'] {
  // A deletion is a generation, too, which no status is about.
  if (upgrade.metadata.deletionTimestamp !== undefined) return undefined;
  if (isSpecUnprocessed(upgrade)) return { state: 'unprocessed', says: describeUnprocessed('hub', upgrade) };
  const ignored = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.editsIgnored);
  return ignored?.status === 'True' ? { state: 'ignored', says: ignored.message } : undefined;
}

/** A number that is so. */
export const exact = (value: number): Figure => ({ certainty: 'exact', value });
/** A number that is at most so. */
export const atMost = (value: number, why: string): Figure => ({ certainty: 'at-most', value, why });
/** A number that is expected. */
export const forecast = (value: number, why: string): Figure => ({ certainty: 'forecast', value, why });
/** No number. */
export const unknown = (why: string): Figure => ({ certainty: 'unknown', why });
