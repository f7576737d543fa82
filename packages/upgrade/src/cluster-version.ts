/** What a ClusterVersion tells of an upgrade (spec/muo 1.7, 4.2, 4.4). */
import type { ClusterVersion } from '@flotilla/api/config';
import type { UpgradeConfigSpec } from '@flotilla/api/managed';

/** What an upgrade goes to. */
export type UpgradeTarget =
  | { readonly kind: 'image'; readonly image: string; readonly version: string }
  | { readonly kind: 'version'; readonly version: string; readonly channel: string };

/** What an UpgradeConfig asks for; undefined when it names neither an image nor a version with its channel. */
export function targetOf({ desired }: UpgradeConfigSpec): UpgradeTarget | undefined {
  const { image = '', version = '', channel = '' } = desired;
  if (image !== '') return { kind: 'image', image, version };
  return version !== '' && channel !== '' ? { kind: 'version', version, channel } : undefined;
}

/** Whether the cluster was sent there already. It stays so once it is. */
export function isCommenced({ spec }: ClusterVersion, target: UpgradeTarget): boolean {
  const { desiredUpdate } = spec;
  if (target.kind === 'image') return desiredUpdate?.image === target.image;
  return desiredUpdate?.version === target.version;
}

type Completed = { readonly version: string; readonly completionTime: string };

/** Versions the cluster has had, the one it has now first. */
export function completedVersions({ status }: ClusterVersion): readonly string[] {
  const completed = (status?.history ?? []).flatMap(({ state, version, completionTime }): Completed[] =>
    state === 'Completed' && version !== '' ? [{ version, completionTime: completionTime ?? '' }] : [],
  );
  return completed
    .toSorted((a, b) => Date.parse(b.completionTime || '1970') - Date.parse(a.completionTime || '1970'))
    .map(({ version }) => version);
}

/** Version the cluster has. */
export const currentVersion = (clusterVersion: ClusterVersion): string | undefined => completedVersions(clusterVersion)[0];

/** Whether the cluster version operator says that a version is applied. */
export const hasCompleted = ({ status }: ClusterVersion, version: string): boolean =>
  (status?.history ?? []).some((entry) => entry.state === 'Completed' && entry.version === version);

/** When the cluster began to go to a version, in milliseconds. */
export function startedAt({ status }: ClusterVersion, version: string): number | undefined {
  const time = Date.parse(status?.history?.find((entry) => entry.version === version)?.startedTime ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Version that an upgrade to `version` leaves behind. */
export function precedingVersion({ status }: ClusterVersion, version: string): string | undefined {
  const desired = status?.desired?.version || undefined;
  if (desired !== version) return desired;
  const before = status?.history?.find((entry) => entry.state === 'Completed' && entry.version !== '' && entry.version !== version);
  return before?.version ?? desired;
}

/** Where an update is offered, and its release image. */
type OfferedUpdate = { readonly kind: 'available' | 'conditional'; readonly image: string };

/** How the cluster version operator offers a version; a conditional offer wins (spec/muo 5.4). */
export function offeredUpdate({ status }: ClusterVersion, version: string): OfferedUpdate | undefined {
  const conditional = status?.conditionalUpdates?.find(({ release }) => release.version === version && release.image !== '');
  if (conditional) return { kind: 'conditional', image: conditional.release.image };
  const available = status?.availableUpdates?.find((release) => release.version === version && release.image !== '');
  return available && { kind: 'available', image: available.image };
}

/** Patch that sends the cluster to its target; undefined when it cannot be sent there yet (spec/muo 5.4). */
export function commencement(clusterVersion: ClusterVersion, target: UpgradeTarget): Record<string, unknown> | undefined {
  const sent = (wanted: { image: string | null; version: string | null }) => ({
    spec: { desiredUpdate: { ...wanted, ...leftByOthers(clusterVersion, wanted.image !== null) } },
  });
  if (target.kind === 'image') return sent({ image: target.image, version: null });
  const offer = offeredUpdate(clusterVersion, target.version);
  return offer && sent({ version: target.version, image: offer.kind === 'conditional' ? offer.image : null });
}

/** A merge keeps what an earlier hand wrote: it would force this update too, or name an architecture beside an image, which the API refuses. */
function leftByOthers({ spec }: ClusterVersion, hasImage: boolean): Record<string, null> {
  const { force, architecture } = spec.desiredUpdate ?? {};
  return { ...(force !== undefined && { force: null }), ...(hasImage && architecture && { architecture: null }) };
}

/** Whether the cluster was sent somewhere and is not there yet. */
export function isUnderChange({ spec: { desiredUpdate }, status }: ClusterVersion): boolean {
  const [latest] = status?.history ?? [];
  if (latest && latest.state !== 'Completed') return true;
  const { version = '', image = '' } = desiredUpdate ?? {};
  return version !== '' ? version !== latest?.version : image !== '' && image !== latest?.image;
}
