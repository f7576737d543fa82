/** Index of cached objects by their cluster. */
export const BY_CLUSTER = 'cluster';
