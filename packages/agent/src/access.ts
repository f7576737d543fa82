import type { ObjectAccess } from '@flotilla/runtime';

/** API server of a spoke, as actions and views use it: a real one, or a simulated spoke's store. */
export type SpokeAccess = Pick<ObjectAccess, 'findKind' | 'findResource' | 'get' | 'create' | 'mergePatch' | 'delete'>;

/** API server of a spoke, as ManifestWorks use it. */
export type WorkAccess = Pick<ObjectAccess, 'findKind' | 'findResource' | 'create' | 'mergePatch' | 'find' | 'apply' | 'deleteExactly'>;
