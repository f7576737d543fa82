import { Job, Namespace } from '@flotilla/api/core';
import { SpokeName } from '@flotilla/api/ran';
import { startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { hasHadLead, publishLead } from './own-cluster.ts';

/** The lead's account in its own cluster: it may patch the status of its Job, and not read it. */

const { namespace, job: name } = SpokeName;
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;

test('a lead finds out whether its Job has had another, with the rights of its account', { timeout: 120_000 }, async () => {
  await using server = await startApiServer({ users: [{ name: 'lead' }] });
  const admin = await server.client();
  await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const rules = [{ apiGroups: ['batch'], resourceNames: [name], resources: ['jobs/status'], verbs: ['patch'] }];
  await admin.request('POST', `${RBAC}/roles`, { body: { metadata: { name: 'lead' }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lead' };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'lead' }];
  await admin.request('POST', `${RBAC}/rolebindings`, { body: { metadata: { name: 'lead' }, roleRef, subjects } });
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'puller', image: 'puller' }] } };
  await admin.create(Job, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace }, spec: { template } });

  const client = await server.client('lead');
  const where = { namespace, signal: new AbortController().signal };
  expect(await hasHadLead(client, where)).toBe(false);
  await publishLead(client, { ...where, place: { address: '10.0.0.1', port: 8443, key: 'key' } });
  expect(await hasHadLead(client, where)).toBe(true);
});
