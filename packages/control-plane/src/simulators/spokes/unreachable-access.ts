import type { SpokeAccess } from '@flotilla/agent';
import { groupVersion, type ServedResource, ServerRefusal } from '@flotilla/runtime';

const SERVER = '10.0.0.1:6443';

/** A spoke whose API server refuses connections, in the words of the stock agent. Which kinds there are it knows from before. */
export function unreachableAccess(spoke: SpokeAccess): SpokeAccess {
  const refuse = (verb: string, served: ServedResource, namespace: string | undefined, name = ''): never => {
    const root = served.group === '' ? 'api' : 'apis';
    const path = [root, groupVersion(served.group, served.version), ...(namespace ? ['namespaces', namespace] : []), served.plural, name];
    const url = `https://${SERVER}/${path.filter(Boolean).join('/')}`;
    throw new ServerRefusal(`${verb} "${url}": dial tcp ${SERVER}: connect: connection refused`);
  };
  return {
    findKind: (apiVersion, kind) => spoke.findKind(apiVersion, kind),
    findResource: (spelling) => spoke.findResource(spelling),
    get: async (...where) => refuse('Get', ...where),
    create: async (served, namespace) => refuse('Post', served, namespace),
    mergePatch: async (served, namespace, name) => refuse('Patch', served, namespace, name),
    delete: async (...where) => refuse('Delete', ...where),
  };
}
