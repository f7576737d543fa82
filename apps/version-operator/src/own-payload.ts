import type { ClusterVersion } from '@flotilla/api/config';

/**
 * The pull spec of a payload that came as a folder without one: that which the cluster asks for under its version or has had, else one that
 * nobody can pull.
 */
export function imageOfVersion(version: string, clusterVersion: ClusterVersion | undefined): string {
  const { spec, status } = clusterVersion ?? {};
  const known = [spec?.desiredUpdate, status?.desired, ...(status?.history ?? []), ...(status?.availableUpdates ?? [])];
  return known.find((release) => release?.version === version && release.image)?.image ?? `release.invalid/release:${version}`;
}
