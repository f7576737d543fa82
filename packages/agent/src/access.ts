import type { ObjectAccess } from '@flotilla/runtime';

/** A spoke's API server as actions and views use it: a real one, or a simulated spoke's store. */
export type SpokeAccess = Pick<ObjectAccess, 'findKind' | 'findResource' | 'get' | 'create' | 'mergePatch' | 'delete'>;

/** A spoke's API server as ManifestWorks use it. */
export type WorkAccess = Pick<ObjectAccess, 'findKind' | 'create' | 'mergePatch' | 'find' | 'apply' | 'deleteExactly'>;
