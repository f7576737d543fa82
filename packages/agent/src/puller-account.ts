import { isJsonObject } from '@flotilla/api';
import { INSPECT_NAMESPACE, SpokeName } from '@flotilla/api/ran';
import { noMatchesForKind, type ServedResource, ServerRefusal } from '@flotilla/runtime';
import type { WorkAccess } from './access.ts';
import { textOf } from './semantics.ts';

type Json = Record<string, unknown>;
type Creating = Pick<WorkAccess, 'findKind' | 'create'>;

const { serviceAccount, pullerBinding, job, nodes, nodeAccount } = SpokeName;
/** Namespaces of Jobs by the puller. */
const PLACES: readonly (string | undefined)[] = [SpokeName.namespace, INSPECT_NAMESPACE];
const RBAC = 'rbac.authorization.k8s.io';
/** Suffix of the ClusterRole for the pullers of the other nodes, beside that of the Job's. */
const NODE_ROLE_SUFFIX = '-node';

/**
 * Creates the accounts of Job `pre-cache` and DaemonSet `pre-cache-nodes` right before each, and binds them in their namespace to ClusterRoles of the
 * spoke's administrator. So neither comes from the hub, and both go with the namespace. Without a role's name nothing is created.
 */
export function withPullerAccount<A extends Creating>(access: A, clusterRole: string | undefined): A {
  if (clusterRole === undefined) return access;
  const create: Creating['create'] = async (served, where, object) => {
    if (where !== undefined) for (const each of accountOf(served, { where, object, clusterRole })) await createOnce(access, each, where);
    return access.create(served, where, object);
  };
  return { ...access, create };
}

function accountOf(
  { group, kind }: ServedResource,
  { where, object: { metadata }, clusterRole }: { readonly where: string; readonly object: Json; readonly clusterRole: string },
) {
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  if (group === 'batch' && kind === 'Job' && name === job && PLACES.includes(where))
    return accountObjects(where, { account: serviceAccount, roleBinding: pullerBinding, clusterRole });
  if (group === 'apps' && kind === 'DaemonSet' && name === nodes && where === SpokeName.namespace)
    return accountObjects(where, { account: nodeAccount, roleBinding: nodeAccount, clusterRole: `${clusterRole}${NODE_ROLE_SUFFIX}` });
  return [];
}

const accountObjects = (
  namespace: string,
  { account, roleBinding, clusterRole }: { readonly account: string; readonly roleBinding: string; readonly clusterRole: string },
) => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: roleBinding, namespace },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: clusterRole },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
  },
];

/** Tolerates an existing object: an older hub creates the account too, and a Job is created more than once. */
async function createOnce(
  access: Creating,
  object: Json & { readonly apiVersion: string; readonly kind: string },
  namespace: string,
): Promise<void> {
  const served = await access.findKind(object.apiVersion, object.kind);
  if (!served) throw new ServerRefusal(noMatchesForKind(object.kind, object.apiVersion));
  try {
    await access.create(served, namespace, object);
  } catch (error) {
    if (!textOf(error).endsWith(' already exists')) throw error;
  }
}
