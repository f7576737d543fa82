import type { WorkAccess } from '@flotilla/agent';
import type { ServedResource } from '@flotilla/runtime';

/** An API server that a spoke has beside its store, where programs of the spoke run. */
export interface SpokeServer {
  readonly objects: WorkAccess;
  /** API groups whose objects are there, and not in the store. */
  readonly groups: ReadonlySet<string>;
}

/** The store, and the server for what is there. */
export function besideStore(store: WorkAccess, { objects, groups }: SpokeServer): WorkAccess {
  const at = ({ group }: Pick<ServedResource, 'group'>): WorkAccess => (groups.has(group) ? objects : store);
  return {
    findKind: (apiVersion, kind) => at({ group: apiVersion.split('/', 1)[0] ?? '' }).findKind(apiVersion, kind),
    async findResource(spelling) {
      const found = await store.findResource(spelling);
      return found && at(found) === store ? found : objects.findResource(spelling);
    },
    find: (served, ...which) => at(served).find(served, ...which),
    create: (served, ...what) => at(served).create(served, ...what),
    apply: (served, ...what) => at(served).apply(served, ...what),
    mergePatch: (served, ...what) => at(served).mergePatch(served, ...what),
    deleteExactly: (served, ...which) => at(served).deleteExactly(served, ...which),
  };
}
