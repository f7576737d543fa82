import { ConfigMap, Deployment, Lease, Node, Pod, RoleBinding } from '@flotilla/api/core';
import { Boat, Buoy } from './boats.ts';
import { type Question, question } from './question.ts';
import type { Transcript } from './transcript.ts';

const OTHER_UID = '11111111-2222-3333-4444-555555555555';
const boat = (to: Transcript, metadata = {}) =>
  to.silently((client) => client.create(Boat, to.object('a', { spec: { sails: 1 } }, metadata)));
const configMap = (to: Transcript, metadata = {}) =>
  to.silently((client) => client.create(ConfigMap, to.object('a', { data: { k: 'v' } }, metadata)));

/** Changes: PUT, merge patches, JSON patches, statuses. */
export const UPDATES: readonly Question[] = [
  question('a merge patch adds, changes and removes', async (to) => {
    await configMap(to);
    await to.merge(ConfigMap, to.ref('a'), { data: { k: null, l: 'w' }, metadata: { labels: { x: 'y' } } });
  }),
  question('a patch that changes nothing gives no new version', async (to) => {
    await configMap(to);
    const found = await to.get(ConfigMap, to.ref('a'));
    await to.merge(ConfigMap, to.ref('a'), { data: { k: 'v' } });
    if (found) await to.replace(ConfigMap, found);
  }),
  question('a merge patch of another version or another uid is a conflict', async (to) => {
    await configMap(to);
    await to.merge(ConfigMap, to.ref('a'), { metadata: { resourceVersion: '1' }, data: { k: 'w' } });
    await to.merge(ConfigMap, to.ref('a'), { metadata: { uid: OTHER_UID }, data: { k: 'w' } });
    await boat(to);
    await to.merge(Boat, to.ref('a'), { metadata: { resourceVersion: '1' }, spec: { sails: 2 } });
    await to.merge(Boat, to.ref('a'), { metadata: { uid: OTHER_UID }, spec: { sails: 2 } });
  }),
  question('a patch cannot give another name', async (to) => {
    await configMap(to);
    await to.merge(ConfigMap, to.ref('a'), { metadata: { name: 'b' } });
  }),
  question('a patch cannot change what the server decides', async (to) => {
    await boat(to);
    await to.merge(Boat, to.ref('a'), { metadata: { generation: 9, creationTimestamp: '2001-01-01T00:00:00Z', deletionTimestamp: null } });
  }),
  question('the generation counts changes of the spec alone', async (to) => {
    await boat(to);
    await to.merge(Boat, to.ref('a'), { metadata: { labels: { x: 'y' } } });
    await to.merge(Boat, to.ref('a'), { status: { speed: 3 } }, 'status');
    await to.merge(Boat, to.ref('a'), { spec: { sails: 2 } });
    await to.merge(Boat, to.ref('a'), { spec: { sails: 2 } });
  }),
  question('where the status is no subresource it counts as a change too', async (to) => {
    await to.silently((client) => client.create(Buoy, to.object('a', { spec: { bell: true } })));
    await to.merge(Buoy, to.ref('a'), { status: { speed: 1 } });
    await to.merge(Buoy, to.ref('a'), { metadata: { labels: { x: 'y' } } });
  }),
  question('a write of the object leaves the status', async (to) => {
    await boat(to);
    await to.silently((client) => client.patch(Boat, to.ref('a'), { status: { speed: 3 } }, { type: 'merge', subresource: 'status' }));
    await to.merge(Boat, to.ref('a'), { spec: { sails: 2 }, status: { speed: 9 } });
    await to.merge(Boat, to.ref('a'), { status: null });
  }),
  question('a write of the status leaves the object', async (to) => {
    await boat(to, { labels: { x: 'y' } });
    await to.merge(
      Boat,
      to.ref('a'),
      {
        spec: { sails: 9 },
        metadata: { labels: { x: 'z' }, annotations: { a: 'b' }, finalizers: ['test.flotilla.io/x'] },
        status: { speed: 3 },
      },
      'status',
    );
  }),
  question('a status is checked, pruned and may be taken away', async (to) => {
    await boat(to);
    await to.merge(Boat, to.ref('a'), { status: { speed: 99 } }, 'status');
    await to.merge(Boat, to.ref('a'), { status: { speed: 1, other: 2 } }, 'status');
    await to.merge(Boat, to.ref('a'), { status: null }, 'status');
  }),
  question('a status of another version is a conflict', async (to) => {
    await boat(to);
    await to.merge(Boat, to.ref('a'), { metadata: { resourceVersion: '1' }, status: { speed: 1 } }, 'status');
    await to.merge(Boat, to.ref('a'), { metadata: { uid: OTHER_UID }, status: { speed: 1 } }, 'status');
  }),
  question('PUT replaces everything', async (to) => {
    await configMap(to, { labels: { x: 'y' }, annotations: { a: 'b' } });
    const found = await to.get(ConfigMap, to.ref('a'));
    await to.replace(ConfigMap, to.object('a', { data: { l: 'w' } }, { resourceVersion: found?.metadata.resourceVersion }));
  }),
  question('PUT of an old version is a conflict', async (to) => {
    await configMap(to);
    const found = await to.get(ConfigMap, to.ref('a'));
    await to.merge(ConfigMap, to.ref('a'), { data: { k: 'w' } });
    if (found) await to.replace(ConfigMap, found);
    await boat(to);
    const old = await to.get(Boat, to.ref('a'));
    await to.merge(Boat, to.ref('a'), { spec: { sails: 2 } });
    if (old) await to.replace(Boat, old);
  }),
  question('PUT of another uid is a conflict', async (to) => {
    await configMap(to);
    await to.replace(ConfigMap, to.object('a', {}, { uid: OTHER_UID }));
    const found = await boat(to);
    await to.replace(Boat, { ...found, metadata: { ...found.metadata, uid: OTHER_UID } });
  }),
  question('PUT without a version overwrites a ConfigMap, and no custom resource', async (to) => {
    await configMap(to);
    await to.replace(ConfigMap, to.object('a', { data: { k: 'w' } }));
    await boat(to);
    await to.replace(Boat, to.object('a', { spec: { sails: 2 } }));
  }),
  question('PUT of what is not there', async (to) => {
    await to.replace(ConfigMap, to.object('a', { data: { k: 'w' } }));
    await to.replace(Boat, to.object('a', { spec: { sails: 2 } }, { resourceVersion: '1' }));
    await to.replace(Lease, to.object('a', { spec: { holderIdentity: 'me' } }));
  }),
  question('PUT under another name is refused', async (to) => {
    await configMap(to);
    await to.request('PUT', `/api/v1/namespaces/${to.namespace}/configmaps/a`, to.object('b'));
  }),
  question('PUT of a status', async (to) => {
    await boat(to);
    const found = await to.get(Boat, to.ref('a'));
    if (found) await to.replace(Boat, { ...found, spec: { sails: 5 }, status: { speed: 3 } }, { subresource: 'status' });
  }),
  question('a dry run of a change stores nothing', async (to) => {
    await configMap(to);
    await to.silently((client) => client.patch(ConfigMap, to.ref('a'), { data: { k: 'w' } }, { type: 'merge', dryRun: true }));
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('a JSON patch adds, replaces, removes and tests', async (to) => {
    await configMap(to);
    await to.json(ConfigMap, to.ref('a'), [
      { op: 'test', path: '/data/k', value: 'v' },
      { op: 'replace', path: '/data/k', value: 'w' },
      { op: 'add', path: '/data/l', value: 'x' },
      { op: 'add', path: '/metadata/labels', value: { x: 'y' } },
      { op: 'add', path: '/metadata/labels/a~1b', value: 'c' },
    ]);
    await to.json(ConfigMap, to.ref('a'), [{ op: 'remove', path: '/data/k' }]);
  }),
  question('a JSON patch whose test fails is refused', async (to) => {
    await configMap(to);
    await to.json(ConfigMap, to.ref('a'), [{ op: 'test', path: '/data/k', value: 'w' }]);
    await to.json(ConfigMap, to.ref('a'), [{ op: 'test', path: '/metadata/uid', value: OTHER_UID }]);
  }),
  question('a JSON patch of a path that is not there is refused', async (to) => {
    await configMap(to);
    await to.json(ConfigMap, to.ref('a'), [{ op: 'remove', path: '/data/none' }]);
    await to.json(ConfigMap, to.ref('a'), [{ op: 'replace', path: '/data/none', value: 'x' }]);
    await to.json(ConfigMap, to.ref('a'), [{ op: 'add', path: '/none/none', value: 'x' }]);
  }),
  question('a JSON patch of lists of a status', async (to) => {
    await boat(to);
    await to.json(Boat, to.ref('a'), [{ op: 'add', path: '/status', value: { seen: ['x'] } }], 'status');
    await to.json(Boat, to.ref('a'), [{ op: 'add', path: '/status/seen/-', value: 'y' }], 'status');
    await to.json(Boat, to.ref('a'), [{ op: 'add', path: '/status/seen/0', value: 'w' }], 'status');
    await to.json(Boat, to.ref('a'), [{ op: 'remove', path: '/status/seen/1' }], 'status');
  }),
  question('a Deployment counts generations, and its status takes annotations', async (to) => {
    const labels = { app: 'a' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await to.silently((client) => client.create(Deployment, to.object('a', { spec: { selector: { matchLabels: labels }, template } })));
    const shown = async () => {
      const found = await to.silently((client) => client.get(Deployment, to.ref('a')));
      to.answers.push({ generation: found?.metadata.generation, labels: found?.metadata.labels, annotations: found?.metadata.annotations });
    };
    const patch = (body: object, subresource?: string) =>
      to.silently((client) => client.patch(Deployment, to.ref('a'), body, { type: 'merge', ...(subresource && { subresource }) }));
    await shown();
    await patch({ spec: { replicas: 3 } });
    await shown();
    await patch({ metadata: { labels: { x: 'y' }, annotations: { a: 'b' } }, status: { replicas: 1 } }, 'status');
    await shown();
  }),
  question('a Pod is pending, and its status takes labels', async (to) => {
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await to.silently((client) => client.create(Pod, to.object('a', { spec, status: { phase: 'Running' } })));
    const shown = async () => {
      const found = await to.silently((client) => client.get(Pod, to.ref('a')));
      to.answers.push({ labels: found?.metadata.labels, phase: (found as { status?: { phase?: string } } | undefined)?.status?.phase });
    };
    await shown();
    await to.silently((client) =>
      client.patch(
        Pod,
        to.ref('a'),
        { metadata: { labels: { x: 'y' } }, status: { phase: 'Running' } },
        { type: 'merge', subresource: 'status' },
      ),
    );
    await shown();
  }),
  question('a Node is created with its status', async (to) => {
    await to.silently((client) =>
      client.create(Node, { metadata: { name: to.namespace }, status: { nodeInfo: { kubeletVersion: 'v1' } } } as never),
    );
    const found = await to.silently((client) => client.get(Node, { name: to.namespace }));
    to.answers.push({ version: (found as { status?: { nodeInfo?: { kubeletVersion?: string } } })?.status?.nodeInfo?.kubeletVersion });
  }),
  question('the role of a binding stays', async (to) => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
    const subjects = [
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      { kind: 'User', name: 'u' },
    ];
    await to.create(RoleBinding, to.object('a:b', { roleRef, subjects }));
    await to.merge(RoleBinding, to.ref('a:b'), { roleRef: { name: 'other' } });
  }),
  question('an immutable ConfigMap stays as it is', async (to) => {
    await to.silently((client) => client.create(ConfigMap, to.object('a', { data: { k: 'v' }, immutable: true })));
    await to.merge(ConfigMap, to.ref('a'), { data: { k: 'w' } });
    await to.merge(ConfigMap, to.ref('a'), { immutable: false });
    await to.merge(ConfigMap, to.ref('a'), { metadata: { labels: { x: 'y' } } });
  }),
];
