/** Facts of a cluster that an upgrade rests on, what its ClusterVersion says of one, and how it is sent to one (spec/muo 1.7, 4.2, 4.4). */
import type { ClusterOperator, ClusterVersion, UpdateHistory } from '@flotilla/api/config';
import type { Node } from '@flotilla/api/core';
import type { Machine, MachineConfigPool, MachineSet } from '@flotilla/api/machine';
import { CHANNEL_ANNOTATION, type UpgradeConfigSpec } from '@flotilla/api/managed';
import { parseVersion } from './versions.ts';

/** Observation of a cluster at one moment. Its objects are shared, so nobody may change them. */
export interface ObservedCluster {
  readonly clusterVersion: ClusterVersion;
  readonly clusterOperators: readonly ClusterOperator[];
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  /** MachineSets of namespace `openshift-machine-api`, like the machines. */
  readonly machineSets: readonly MachineSet[];
  readonly machines: readonly Machine[];
}

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

/** Version that is being applied to the cluster; undefined where none is. */
export function versionUnderWay({ status }: ClusterVersion): string | undefined {
  const [latest] = status?.history ?? [];
  return latest?.state === 'Completed' ? undefined : latest?.version || undefined;
}

/** Version of an image that the cluster runs, has run or is on its way to; undefined when its cluster version operator has not told it yet. */
export const versionSeen = ({ status }: ClusterVersion, image: string): string | undefined =>
  [status?.desired, ...(status?.history ?? [])].find((release) => release?.image === image)?.version || undefined;

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

/** A change of the channel, which an upgrade may need before it can start: until then the change is undone with the upgrade. */
type ChannelPatch = {
  readonly metadata: { readonly annotations: Record<string, string | null> };
  readonly spec?: { readonly channel: string | null };
};

const noteOf = ({ metadata }: ClusterVersion): string | undefined => metadata.annotations?.[CHANNEL_ANNOTATION];
const NO_NOTE = { metadata: { annotations: { [CHANNEL_ANNOTATION]: null } } };

/** Builds the patch to another channel. It remembers the channel before the upgrade, even after several changes. */
export function channelChange(clusterVersion: ClusterVersion, channel: string): ChannelPatch {
  const { channel: current = '' } = clusterVersion.spec;
  const [first, last] = noteOf(clusterVersion)?.split(' ') ?? [];
  const before = last === current ? (first ?? '') : current;
  return { metadata: { annotations: { [CHANNEL_ANNOTATION]: `${before} ${channel}` } }, spec: { channel } };
}

/** Builds the patch back to the channel before the upgrade, unless somebody has changed it since; undefined when no upgrade changed it. */
export function channelReturn(clusterVersion: ClusterVersion): ChannelPatch | undefined {
  const note = noteOf(clusterVersion);
  if (note === undefined) return undefined;
  const [before, since] = note.split(' ');
  return since === clusterVersion.spec.channel ? { ...NO_NOTE, spec: { channel: before || null } } : NO_NOTE;
}

/** Adds to a commencing patch that the channel stays from then on. */
export const channelKept = (clusterVersion: ClusterVersion): Partial<ChannelPatch> => (noteOf(clusterVersion) === undefined ? {} : NO_NOTE);

/** Explains why the cluster's operators refuse another minor version (spec/muo 5.3, step 3); undefined when they allow it. */
export function upgradeObstacle(clusterVersion: ClusterVersion, version: string, upgradeAt: string): string | undefined {
  const blocking = clusterVersion.status?.conditions?.find(({ type, status }) => type === 'Upgradeable' && status === 'False');
  if (!blocking) return undefined;
  const current = parseVersion(currentVersion(clusterVersion) ?? '');
  const desired = parseVersion(version);
  if (desired.major < current.major || desired.minor <= current.minor) return undefined;
  const { reason, message } = blocking;
  return `cluster upgrade to version ${version} on ${unixDate(upgradeAt)} has been cancelled: ${reason}: ${message}`;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a date as `date -u` does: `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(text: string): string {
  const date = new Date(text);
  const time = date.toISOString().slice(11, 19);
  return `${DAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2)} ${time} UTC ${date.getUTCFullYear()}`;
}
