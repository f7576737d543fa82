/** Channel of a cluster, which an upgrade may have to change before it can start: until then the change is undone with the upgrade. */
import type { ClusterVersion } from '@flotilla/api/config';
import { CHANNEL_ANNOTATION } from '@flotilla/api/managed';

type Patch = {
  readonly metadata: { readonly annotations: Record<string, string | null> };
  readonly spec?: { readonly channel: string | null };
};

const noteOf = ({ metadata }: ClusterVersion): string | undefined => metadata.annotations?.[CHANNEL_ANNOTATION];
const NO_NOTE = { metadata: { annotations: { [CHANNEL_ANNOTATION]: null } } };

/** Builds the patch to another channel. It remembers the channel before the upgrade, even after several changes. */
export function channelChange(clusterVersion: ClusterVersion, channel: string): Patch {
  const { channel: current = '' } = clusterVersion.spec;
  const [first, last] = noteOf(clusterVersion)?.split(' ') ?? [];
  const before = last === current ? (first ?? '') : current;
  return { metadata: { annotations: { [CHANNEL_ANNOTATION]: `${before} ${channel}` } }, spec: { channel } };
}

/** Builds the patch back to the channel before the upgrade, unless somebody has changed it since; undefined when no upgrade changed it. */
export function channelReturn(clusterVersion: ClusterVersion): Patch | undefined {
  const note = noteOf(clusterVersion);
  if (note === undefined) return undefined;
  const [before, since] = note.split(' ');
  return since === clusterVersion.spec.channel ? { ...NO_NOTE, spec: { channel: before || null } } : NO_NOTE;
}

/** Adds to a commencing patch that the channel stays from then on. */
export const channelKept = (clusterVersion: ClusterVersion): Partial<Patch> => (noteOf(clusterVersion) === undefined ? {} : NO_NOTE);
