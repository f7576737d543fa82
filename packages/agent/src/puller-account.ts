import { isJsonObject } from '@flotilla/api';
import { INSPECT_NAMESPACE, SpokeName } from '@flotilla/api/ran';
import { noMatchesForKind, type ServedResource, ServerRefusal } from '@flotilla/runtime';
import type { WorkAccess } from './access.ts';
import { textOf } from './semantics.ts';

type Json = Record<string, unknown>;
type Creating = Pick<WorkAccess, 'findKind' | 'create'>;

const { serviceAccount, pullerBinding } = SpokeName;
/** Namespaces of Jobs by the puller. */
const PLACES: readonly (string | undefined)[] = [SpokeName.namespace, INSPECT_NAMESPACE];
const RBAC = 'rbac.authorization.k8s.io';

/**
 * Creates the account of Job `pre-cache` right before the Job, and binds it in its namespace to a ClusterRole of the spoke's administrator. So
 * neither comes from the hub, and both go with the namespace. Without a role's name nothing is created.
 */
export function withPullerAccount<A extends Creating>(access: A, clusterRole: string | undefined): A {
  if (clusterRole === undefined) return access;
  const create = async (served: ServedResource, where: string | undefined, object: Json): Promise<void> => {
    if (where !== undefined && isPullerJob(served, where, object))
      for (const each of accountObjects(clusterRole, where)) await createOnce(access, each, where);
    await access.create(served, where, object);
  };
  return { ...access, create };
}

const isPullerJob = ({ group, kind }: ServedResource, where: string, { metadata }: Json): boolean =>
  group === 'batch' && kind === 'Job' && PLACES.includes(where) && isJsonObject(metadata) && metadata.name === SpokeName.job;

const accountObjects = (clusterRole: string, namespace: string) => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: serviceAccount, namespace } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: pullerBinding, namespace },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: clusterRole },
    subjects: [{ kind: 'ServiceAccount', name: serviceAccount, namespace }],
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
