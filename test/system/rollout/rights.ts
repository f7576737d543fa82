/** What roles let do, and what was asked of an API server. */
import { isMap, isSeq, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { readAuditLog } from '../../fixtures/audit-log.ts';

/** One verb on one resource. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With its subresource: `pods/status`. */
  readonly resource: string;
  /** Absent: of any name. */
  readonly name?: string;
  /** Absent: in all. */
  readonly namespace?: string;
  /** The comment of its rule says why it is held though nobody uses it. */
  readonly isHeld: boolean;
}

/** One request. */
export interface Asked extends Omit<Right, 'isHeld' | 'namespace'> {
  readonly user: string;
  readonly namespace: string;
  /** The answer when it was a refusal, else empty. */
  readonly refusal: string;
}

const Rule = z.object({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  resourceNames: z.array(z.string()).optional(),
  verbs: z.array(z.string()),
});
const Role = z.looseObject({
  kind: z.enum(['Role', 'ClusterRole']),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** Begins the comment of a rule that nobody uses by a request of his own, and gives the reason. */
const HELD = /^\s*Held\b/m;

/** The rights of every role in rendered manifests, by the name of the role. */
export function readRoles(manifests: string): Map<string, Right[]> {
  const roles = new Map<string, Right[]>();
  for (const document of parseAllDocuments(manifests)) {
    const role = Role.safeParse(document.toJS());
    const rules = document.get('rules');
    if (!role.success || !isSeq(rules)) continue;
    const { name, namespace } = role.data.metadata;
    const where = namespace === undefined ? {} : { namespace };
    const rights = rules.items.flatMap((rule, index) => {
      if (!isMap(rule)) return [];
      const comment = rule.commentBefore ?? (index === 0 ? rules.commentBefore : undefined) ?? '';
      return rightsOf([rule.toJSON()]).map((right) => ({ ...right, ...where, isHeld: HELD.test(comment) }));
    });
    roles.set(name, [...(roles.get(name) ?? []), ...rights]);
  }
  return roles;
}

/** The rights that rules of an RBAC object give. */
export const rightsOf = (rules: unknown): Right[] =>
  z
    .array(Rule)
    .parse(rules)
    .flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) =>
            (resourceNames ?? [undefined]).map((name) => ({ verb, group, resource, ...(name !== undefined && { name }), isHeld: false })),
          ),
        ),
      ),
    );

/** Everything that an audit log tells. A patch that created its object was also asked whether it may. */
export async function readAsked(file: string): Promise<Asked[]> {
  const asked: Asked[] = [];
  for await (const { verb, user, impersonatedUser, objectRef, responseStatus } of readAuditLog(file)) {
    const { code, message } = responseStatus;
    // What is refused because of the state a namespace is in is no question of rights.
    const refusal = code === 403 && !message.includes('being terminated') ? message : '';
    const { apiGroup: group = '', resource = '', subresource, namespace = '', name = '' } = objectRef ?? {};
    const request = {
      user: (impersonatedUser ?? user).username,
      group,
      resource: subresource ? `${resource}/${subresource}` : resource,
      namespace,
      name,
      refusal,
    };
    asked.push({ ...request, verb });
    if (verb === 'patch' && code === 201) asked.push({ ...request, verb: 'create' });
  }
  return asked;
}

/** True when the request needed this right. */
export const isUsedBy = (right: Right, asked: Asked): boolean =>
  right.verb === asked.verb &&
  right.group === asked.group &&
  right.resource === asked.resource &&
  (right.name === undefined || right.name === asked.name) &&
  (right.namespace === undefined || right.namespace === asked.namespace);

/** `verb resource.group name`. */
export const describeRight = ({ verb, group, resource, name }: Omit<Right, 'isHeld'>): string =>
  [verb, group ? `${resource}.${group}` : resource, name].filter((part) => part).join(' ');
