import { apiVersionOf, type ServedKind } from './built-in-kinds.ts';
import { noSuchPath } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** Answer of `/apis`. */
export function groupsAnswer(kinds: readonly ServedKind[]): Json {
  const groups = [...new Set(kinds.map(({ group }) => group))].filter((group) => group !== '');
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.map((name) => {
      const versions = [...new Set(kinds.filter(({ group }) => group === name).map(({ version }) => version))].map((version) => ({
        groupVersion: `${name}/${version}`,
        version,
      }));
      return { name, versions, preferredVersion: versions[0] };
    }),
  };
}

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Answer of `/api/v1` or `/apis/group/version`. */
export function groupAnswer(kinds: readonly ServedKind[], group: string, version: string): Json {
  const served = kinds.filter((kind) => kind.group === group && kind.version === version);
  const [first] = served;
  if (!first) throw noSuchPath();
  const resources = served.flatMap(({ plural, singular, namespaced, kind, hasStatus }) => [
    { name: plural, singularName: singular, namespaced, kind, verbs: VERBS },
    ...(hasStatus ? [{ name: `${plural}/status`, singularName: '', namespaced, kind, verbs: ['get', 'patch', 'update'] }] : []),
  ]);
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf(first), resources };
}
