import type { ClusterRecord } from '../model.ts';

/** Bytes that all details together may take: a status holds thousands of clusters. */
const MAX_DETAIL_BYTES = 64 * 1024;

/** The records with the details of ManifestWorks that timed out, the earliest ones first, as far as there is room for them. */
export function boundDetails(records: readonly ClusterRecord[], maxBytes = MAX_DETAIL_BYTES): ClusterRecord[] {
  let room = maxBytes;
  return records.map((record) => {
    const { currentManifestWork: work } = record;
    if (work?.status === undefined) return record;
    if (room >= 0) room -= Buffer.byteLength(JSON.stringify(work.status));
    return room >= 0 ? record : { ...record, currentManifestWork: { name: work.name } };
  });
}
