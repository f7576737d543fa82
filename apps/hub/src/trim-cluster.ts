import { ClusterClaim, claimOf, type ManagedCluster } from '@flotilla/api/ocm';

const CLAIMS = Object.values(ClusterClaim);

/** Drops reports that no decision reads: a status can be as large as the server allows, and a hub has thousands. */
export function trimReport({ apiVersion, kind, metadata, spec, status }: ManagedCluster): ManagedCluster {
  const clusterClaims = CLAIMS.flatMap((name) => {
    const value = claimOf({ status }, name);
    return value === undefined || value.length > MOST_CHARACTERS ? [] : [{ name, value }];
  });
  return { apiVersion, kind, metadata, spec, ...(status && { status: { conditions: status.conditions, clusterClaims } }) };
}

/** Longest value of a claim that is kept, in characters: four times the bound of its own CRD. */
const MOST_CHARACTERS = 4096;
