import { Annotation, findCondition } from '@flotilla/api';
import type { MemberRow, SpokeRow } from '@flotilla/api/answers';
import { CLUSTER_AVAILABLE, type ManagedCluster } from '@flotilla/api/ocm';
import { cutAtWord } from '@flotilla/api/ran';
import { z } from 'zod';

/** A spoke's part in an upgrade. */
export interface Part {
  readonly upgrade: string;
  readonly row: MemberRow;
}

/** A spoke as a row. @param cluster undefined for one that upgrades name and nobody may read, or that is not there */
export function spokeRow(key: string, cluster: ManagedCluster | undefined, part: Part | undefined): SpokeRow {
  const hold = cluster?.metadata.annotations?.[Annotation.hold];
  const condition = findCondition(cluster?.status?.conditions, CLUSTER_AVAILABLE);
  return {
    state: 'none',
    batch: null,
    cached: null,
    cause: null,
    says: null,
    ...part?.row,
    key,
    upgrade: part?.upgrade ?? null,
    version: versionOf(cluster),
    available: condition?.status === 'True' ? 'yes' : condition?.status === 'False' ? 'no' : 'unknown',
    availableSince: condition?.lastTransitionTime ?? null,
    hold: hold === undefined ? null : cutAtWord(hold),
  };
}

/** OpenShift's own version is a label, Kubernetes' stands in the status. */
const VERSION_LABEL = 'openshiftVersion';
const Version = z.looseObject({ kubernetes: z.string() });

const versionOf = (cluster: ManagedCluster | undefined): string | null =>
  cluster?.metadata.labels?.[VERSION_LABEL] ?? Version.safeParse(cluster?.status?.version).data?.kubernetes ?? null;
