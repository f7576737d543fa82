import { z } from 'zod';
import { readJson } from '../json.ts';

/**
 * ConfigMap in the operator's namespace in which a puller notes releases that the nodes have, a key each: the digest of the release image. It is there
 * only where the chart makes it.
 */
export const CACHED_RELEASES = 'flotilla-cached-releases';
/** Releases that are noted, the newest ones. */
export const MOST_CACHED_RELEASES = 4;
/** Nodes of one note: four notes of the longest names fit into a ConfigMap. */
export const MOST_CACHED_NODES = 700;

/** Note of one release: nodes that were found to have all of its images. */
export const CachedRelease = z.object({
  /** Release image as it was asked for. */
  image: z.string().max(1_024),
  /** Digest of the release image. */
  digest: z.string().max(150),
  /** Uid of the ClusterGroupUpgrade that cached it, where one did. */
  upgrade: z.string().max(63).optional(),
  /** Time at which the nodes were found so, RFC 3339. */
  at: z.string().max(40),
  nodes: z.array(z.object({ name: z.string().max(253), uid: z.string().max(63) })).max(MOST_CACHED_NODES),
});
export type CachedRelease = z.output<typeof CachedRelease>;

/** Reads the notes; one that cannot be read is none. */
export function readCachedReleases(data: Readonly<Record<string, string>> = {}): ReadonlyMap<string, CachedRelease> {
  return new Map(
    Object.entries(data).flatMap(([key, text]) => {
      const note = CachedRelease.safeParse(readJson(text)).data;
      return note && Number.isFinite(Date.parse(note.at)) ? [[key, note] as const] : [];
    }),
  );
}
