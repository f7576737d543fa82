import { expect, test } from 'vitest';
import { UPGRADE } from '../../../../../testing/observation-builders.ts';
import { createAction, createView, deleteAction } from '../../../transports/actions/hub-objects.ts';
import { backupNames, createBackupJob } from './job.ts';

const IMAGE = 'registry.example/recovery:1';
const management = { 'target.workload.openshift.io/management': '{"effect":"PreferredDuringScheduling"}' };
const workload = createBackupJob({ jobViewSeconds: 30 }).workload(
  { image: IMAGE },
  { upgradeUid: UPGRADE.uid, managed: undefined, clusters: 1 },
);
const manifests = workload.manifests();
const template = (action: string) => manifests.find((each) => each.action === action)?.template;
const place = { job: { work: 'backup', names: backupNames }, upgrade: UPGRADE, cluster: 'spoke' };

test('the objects, in the order of the reference', () => {
  expect(manifests.map(({ action, template: { kind } }) => [action, kind])).toEqual([
    ['backup-ns-create', 'Namespace'],
    ['backup-sa-create', 'ServiceAccount'],
    ['backup-crb-create', 'ClusterRoleBinding'],
    ['backup-job-create', 'Job'],
  ]);
});

test('the namespace says that its pods are privileged and whose it is', () => {
  expect(template('backup-ns-create')).toMatchObject({
    metadata: {
      name: 'openshift-talo-backup',
      labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
      annotations: { 'workload.openshift.io/allowed': 'management', 'flotilla.io/upgrade-uid': UPGRADE.uid },
    },
  });
});

test('the account of the job is cluster-admin', () => {
  expect(template('backup-sa-create')).toMatchObject({ metadata: { name: 'backup-agent', namespace: 'openshift-talo-backup' } });
  expect(template('backup-crb-create')).toMatchObject({
    metadata: { name: 'backup-agent' },
    roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'backup-agent', namespace: 'openshift-talo-backup' }],
  });
});

test('the job runs for 480 seconds at most, once, as root on the host', () => {
  expect(template('backup-job-create')).toMatchObject({
    apiVersion: 'batch/v1',
    metadata: { name: 'backup-agent', namespace: 'openshift-talo-backup', annotations: management },
    spec: {
      activeDeadlineSeconds: 480,
      backoffLimit: 0,
      template: {
        metadata: { annotations: management },
        spec: {
          restartPolicy: 'Never',
          serviceAccountName: 'backup-agent',
          containers: [
            {
              name: 'container-image',
              image: IMAGE,
              args: ['launchBackup'],
              tty: true,
              securityContext: { privileged: true, runAsUser: 0 },
            },
          ],
        },
      },
    },
  });
  expect(JSON.stringify(template('backup-job-create'))).not.toContain('priorityClassName');
});

test('the job has these paths of the host, in the order of the reference', () => {
  const paths = [
    '/boot Directory ro',
    '/dev/log Socket',
    '/etc Directory',
    '/proc Directory ro',
    '/run Directory',
    '/sysroot Directory',
    '/tmp Directory',
    '/usr/bin Directory ro',
    '/usr/lib Directory ro',
    '/usr/lib64 Directory ro',
    '/usr/libexec Directory ro',
    '/usr/local Directory ro',
    '/usr/share/containers Directory ro',
    '/var/lib Directory',
    '/var/recovery DirectoryOrCreate',
    '/var/tmp Directory',
    '/sys/fs/cgroup Directory ro',
  ].map((line) => line.split(' '));
  const nameOf = (path = '') => (path === '/sys/fs/cgroup' ? 'sys-fs-cgroup' : `host${path.replaceAll('/', '-')}`);
  expect(template('backup-job-create')).toMatchObject({
    spec: {
      template: {
        spec: {
          volumes: [{ name: 'host', emptyDir: {} }, ...paths.map(([path, type]) => ({ name: nameOf(path), hostPath: { path, type } }))],
          containers: [
            {
              volumeMounts: [
                { name: 'host', mountPath: '/host' },
                ...paths.map(([path, , mode]) => ({
                  name: nameOf(path),
                  mountPath: `/host${path}`,
                  ...(mode === 'ro' && { readOnly: true }),
                })),
              ],
            },
          ],
        },
      },
    },
  });
});

test('the actions and views on the hub', () => {
  expect(manifests.map((manifest) => createAction(place, manifest).spec)).toMatchObject([
    { actionType: 'Create', kube: { resource: 'namespace' } },
    { actionType: 'Create', kube: { resource: 'serviceaccount' } },
    { actionType: 'Create', kube: { resource: 'clusterrolebinding' } },
    { actionType: 'Create', kube: { resource: 'job', namespace: 'openshift-talo-backup' } },
  ]);
  expect(deleteAction(place, 'backup-ns-delete', { when: 'after' }).spec).toEqual({
    actionType: 'Delete',
    kube: { resource: 'namespace', name: 'openshift-talo-backup' },
  });
  expect(deleteAction(place, 'backup-crb-delete', { when: 'after' }).spec).toEqual({
    actionType: 'Delete',
    kube: { resource: 'clusterrolebinding', name: 'backup-agent' },
  });
  expect(createView(place, backupNames.views.namespace, 0)).toMatchObject({
    metadata: { name: 'view-backup-namespace', namespace: 'spoke', labels: { 'flotilla.io/work': 'backup' } },
    spec: { scope: { resource: 'namespaces', name: 'openshift-talo-backup' } },
  });
  expect(createView(place, backupNames.views.job, 30).spec).toEqual({
    scope: { resource: 'jobs', name: 'backup-agent', namespace: 'openshift-talo-backup', updateIntervalSeconds: 30 },
  });
});

test('a spoke is clean when namespace and binding are gone; the hub waits 720 seconds beyond the job', () => {
  expect(workload).toMatchObject({
    deletions: ['backup-ns-delete', 'backup-crb-delete'],
    patienceMs: (480 + 720) * 1000,
  });
});
