import { type ServedResource, ServerRefusal } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { withPullerAccount } from './puller-account.ts';

const NAMESPACE = 'openshift-talo-pre-cache';
const kind = (name: string, group = ''): ServedResource => ({
  group,
  version: 'v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  singular: name.toLowerCase(),
  namespaced: true,
});
const jobs = kind('Job', 'batch');
const job = (name = 'pre-cache') => ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name } });

/** Fakes a spoke that records creations in order, and refuses these kinds with these texts. */
function spokeOf(refusals: Readonly<Record<string, string>> = {}) {
  const created: { served: ServedResource; namespace: string | undefined; object: Record<string, unknown> }[] = [];
  const kinds = [kind('ServiceAccount'), kind('RoleBinding', 'rbac.authorization.k8s.io'), jobs];
  const access = {
    findKind: async (_: string, name: string) => kinds.find((served) => served.kind === name),
    create: async (served: ServedResource, namespace: string | undefined, object: Record<string, unknown>) => {
      const refusal = refusals[served.kind];
      if (refusal) throw new ServerRefusal(refusal);
      created.push({ served, namespace, object });
      return object;
    },
  };
  return { access, created, kinds: () => created.map(({ served }) => served.kind) };
}

describe("the puller's account", () => {
  test.each([NAMESPACE, 'flotilla-inspect'])(
    'is there before its Job in %s, bound to the role that the spoke has for it',
    async (place) => {
      const { access, created, kinds } = spokeOf();
      await withPullerAccount(access, 'agent-puller').create(jobs, place, job());
      expect(kinds()).toEqual(['ServiceAccount', 'RoleBinding', 'Job']);
      expect(created.every(({ namespace }) => namespace === place)).toBe(true);
      expect(created[1]?.object).toMatchObject({
        metadata: { name: 'pre-cache-puller', namespace: place },
        roleRef: { kind: 'ClusterRole', name: 'agent-puller' },
        subjects: [{ kind: 'ServiceAccount', name: 'pre-cache-agent', namespace: place }],
      });
    },
  );

  test('of the other nodes is there before their DaemonSet, bound to a role of its own', async () => {
    const { access, created, kinds } = spokeOf();
    const nodes = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'pre-cache-nodes' } };
    await withPullerAccount(access, 'agent-puller').create(kind('DaemonSet', 'apps'), NAMESPACE, nodes);
    expect(kinds()).toEqual(['ServiceAccount', 'RoleBinding', 'DaemonSet']);
    expect(created[1]?.object).toMatchObject({
      metadata: { name: 'pre-cache-node', namespace: NAMESPACE },
      roleRef: { kind: 'ClusterRole', name: 'agent-puller-node' },
      subjects: [{ kind: 'ServiceAccount', name: 'pre-cache-node', namespace: NAMESPACE }],
    });
  });

  test('may be there already: an older hub sends it, and a Job may be made again', async () => {
    const { access, kinds } = spokeOf({ ServiceAccount: 'serviceaccounts "pre-cache-agent" already exists' });
    await withPullerAccount(access, 'agent-puller').create(jobs, NAMESPACE, job());
    expect(kinds()).toEqual(['RoleBinding', 'Job']);
  });

  test('precedes the Job: a refusal is reported, and no Job is created', async () => {
    const refusal = 'rolebindings is forbidden: User "agent" cannot create resource "rolebindings"';
    const { access, kinds } = spokeOf({ RoleBinding: refusal });
    await expect(withPullerAccount(access, 'agent-puller').create(jobs, NAMESPACE, job())).rejects.toThrow(refusal);
    expect(kinds()).toEqual(['ServiceAccount']);
  });

  test.each([
    { name: 'a Job elsewhere', role: 'agent-puller', namespace: 'default', object: job() },
    { name: 'another Job', role: 'agent-puller', namespace: NAMESPACE, object: job('other') },
    { name: 'the Job, where the spoke has no role for it', role: undefined, namespace: NAMESPACE, object: job() },
  ])('is not made for $name', async ({ role, namespace, object }) => {
    const { access, kinds } = spokeOf();
    await withPullerAccount(access, role).create(jobs, namespace, object);
    expect(kinds()).toEqual(['Job']);
  });
});
