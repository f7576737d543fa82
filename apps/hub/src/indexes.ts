/** Index of cached objects by the cluster they belong to. */
export const BY_CLUSTER = 'cluster';
