/** Facts of a ClusterVersion about an upgrade (spec/muo 1.7, 4.2, 4.4). */
import type { ClusterVersion, UpdateHistory } from '@flotilla/api/config';
import type { UpgradeConfigSpec } from '@flotilla/api/managed';

/** Target of an upgrade. */
export type UpgradeTarget =
  | { readonly kind: 'image'; readonly image: string; readonly version: string }
  | { readonly kind: 'version'; readonly version: string; readonly channel: string };

/** Reads the target of an UpgradeConfig; undefined when it names neither an image nor a version with its channel. */
export function targetOf({ desired }: UpgradeConfigSpec): UpgradeTarget | undefined {
  const { image = '', version = '', channel = '' } = desired;
  if (image !== '') return { kind: 'image', image, version };
  return version !== '' && channel !== '' ? { kind: 'version', version, channel } : undefined;
}

/** True when the cluster has this desired update, also after its completion. */
export function isCommenced({ spec }: ClusterVersion, target: UpgradeTarget): boolean {
  const { desiredUpdate } = spec;
  if (target.kind === 'image') return desiredUpdate?.image === target.image;
  return desiredUpdate?.version === target.version;
}

/** Longest quote of a desired update, in characters. */
const LONGEST_UPDATE = 256;

/** Describes what the cluster is asked for instead of the target; undefined while it is asked for the target. */
export function askedInstead(clusterVersion: ClusterVersion, target: UpgradeTarget): string | undefined {
  if (isCommenced(clusterVersion, target)) return undefined;
  const { version = '', image = '' } = clusterVersion.spec.desiredUpdate ?? {};
  const asked = (version || image).slice(0, LONGEST_UPDATE);
  const wanted = target.kind === 'image' ? target.image : target.version;
  const remedy = `set its spec.desiredUpdate to ${wanted} again, or delete the UpgradeConfig to end the upgrade here`;
  return `the ClusterVersion asks for ${asked || 'no update any more'}: ${remedy}`;
}

/** Completed versions, the current one first. */
export function completedVersions({ status }: ClusterVersion): readonly string[] {
  const endOf = ({ completionTime }: UpdateHistory) => Date.parse(completionTime || '1970');
  return (status?.history ?? [])
    .filter(({ state, version }) => state === 'Completed' && version !== '')
    .toSorted((a, b) => endOf(b) - endOf(a))
    .map(({ version }) => version);
}

/** Current version of the cluster. */
export const currentVersion = (clusterVersion: ClusterVersion): string | undefined => completedVersions(clusterVersion)[0];

/** Newest update of the cluster, if it is to this version: earlier updates to it were followed by others, such as a rollback. */
function latestUpdateTo({ status }: ClusterVersion, version: string) {
  const [latest] = status?.history ?? [];
  return latest?.version === version ? latest : undefined;
}

/** True when the cluster version operator reports a version as applied, and nothing else since. */
export const hasCompleted = (clusterVersion: ClusterVersion, version: string): boolean =>
  latestUpdateTo(clusterVersion, version)?.state === 'Completed';

/** Start of the update to a version, in milliseconds since the epoch; undefined when the newest update is to another. */
export function startedAt(clusterVersion: ClusterVersion, version: string): number | undefined {
  const time = Date.parse(latestUpdateTo(clusterVersion, version)?.startedTime ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Version before an upgrade to `version`. */
export function precedingVersion({ status }: ClusterVersion, version: string): string | undefined {
  const desired = status?.desired?.version || undefined;
  if (desired !== version) return desired;
  const before = status?.history?.find((entry) => entry.state === 'Completed' && entry.version !== '' && entry.version !== version);
  return before?.version ?? desired;
}

/** Kind of an offered update, and its release image. */
type OfferedUpdate = { readonly kind: 'available' | 'conditional'; readonly image: string };

/** Finds the cluster version operator's offer of a version; a conditional offer wins (spec/muo 5.4). */
export function offeredUpdate({ status }: ClusterVersion, version: string): OfferedUpdate | undefined {
  const conditional = status?.conditionalUpdates?.find(({ release }) => release.version === version && release.image !== '');
  if (conditional) return { kind: 'conditional', image: conditional.release.image };
  const available = status?.availableUpdates?.find((release) => release.version === version && release.image !== '');
  return available && { kind: 'available', image: available.image };
}

/** Builds the patch that starts the update; undefined when it cannot start yet (spec/muo 5.4). */
export function commencement(clusterVersion: ClusterVersion, target: UpgradeTarget): Record<string, unknown> | undefined {
  const sent = (wanted: { image: string | null; version: string | null }) => ({
    spec: { desiredUpdate: { ...wanted, ...leftByOthers(clusterVersion, wanted.image !== null) } },
  });
  if (target.kind === 'image') return sent({ image: target.image, version: null });
  const offer = offeredUpdate(clusterVersion, target.version);
  return offer && sent({ version: target.version, image: offer.kind === 'conditional' ? offer.image : null });
}

/**
 * Clears fields of an earlier update, which a merge would keep: they would force this one too, or name an architecture beside an image, which the API
 * refuses.
 */
function leftByOthers({ spec }: ClusterVersion, hasImage: boolean): Record<string, null> {
  const { force, architecture } = spec.desiredUpdate ?? {};
  return { ...(force !== undefined && { force: null }), ...(hasImage && architecture && { architecture: null }) };
}

/** True when the cluster has an unfinished update. */
export function isUnderChange({ spec: { desiredUpdate }, status }: ClusterVersion): boolean {
  const [latest] = status?.history ?? [];
  if (latest && latest.state !== 'Completed') return true;
  const { version = '', image = '' } = desiredUpdate ?? {};
  return version !== '' ? version !== latest?.version : image !== '' && image !== latest?.image;
}
