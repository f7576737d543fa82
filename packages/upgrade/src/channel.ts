/** The channel of a cluster, which an upgrade may have to change before it can send it: until then that is taken back with the upgrade. */
import type { ClusterVersion } from '@flotilla/api/config';
import { CHANNEL_ANNOTATION } from '@flotilla/api/managed';

type Patch = {
  readonly metadata: { readonly annotations: Record<string, string | null> };
  readonly spec?: { readonly channel: string | null };
};

const noteOf = ({ metadata }: ClusterVersion): string | undefined => metadata.annotations?.[CHANNEL_ANNOTATION];
const NO_NOTE = { metadata: { annotations: { [CHANNEL_ANNOTATION]: null } } };

/** Patch to another channel that remembers the one before the upgrade, however often it is changed for one. */
export function channelChange(clusterVersion: ClusterVersion, channel: string): Patch {
  const { channel: current = '' } = clusterVersion.spec;
  const [first, last] = noteOf(clusterVersion)?.split(' ') ?? [];
  const before = last === current ? (first ?? '') : current;
  return { metadata: { annotations: { [CHANNEL_ANNOTATION]: `${before} ${channel}` } }, spec: { channel } };
}

/** Patch back to the channel before the upgrade, unless somebody has changed it since; undefined when no upgrade changed it. */
export function channelReturn(clusterVersion: ClusterVersion): Patch | undefined {
  const note = noteOf(clusterVersion);
  if (note === undefined) return undefined;
  const [before, since] = note.split(' ');
  return since === clusterVersion.spec.channel ? { ...NO_NOTE, spec: { channel: before || null } } : NO_NOTE;
}

/** What a patch has besides when the cluster is sent: from then on the channel stays. */
export const channelKept = (clusterVersion: ClusterVersion): Partial<Patch> => (noteOf(clusterVersion) === undefined ? {} : NO_NOTE);
