/** Index of cached objects by their cluster. */
export const BY_CLUSTER = 'cluster';
/** Index of ManagedClusters by their label `name`, by which the Placements of upgrades select. */
export const BY_NAME_LABEL = 'name-label';
/** Index of cached objects by their name, in whichever namespace. */
export const BY_NAME = 'name';
