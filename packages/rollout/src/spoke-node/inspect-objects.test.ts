import { gunzipSync } from 'node:zlib';
import { INSPECT_NAMESPACE, LAYER_LIST_KEY } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { inspectObjects } from './inspect-objects.ts';
import { spokeNode } from './spoke-node.ts';

const list = { layers: [], images: [] };
const objects = (labels: Record<string, string> = {}, annotations: Record<string, string> = {}) =>
  inspectObjects({ node: spokeNode({ metadata: { name: 'spoke-1', labels, annotations } }), list, image: 'puller:1', seconds: 60 });

test('an inspection has a namespace of its own, the list and a Job that knows no registry', () => {
  const made = objects({}, { 'flotilla.io/https-proxy': 'http://proxy:1', 'flotilla.io/pull-secret-path': '/var/lib/kubelet/config.json' });
  expect(made.map(({ kind }) => kind)).toEqual(['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ConfigMap', 'Job']);
  expect(made.slice(1).every(({ metadata }) => metadata.namespace === INSPECT_NAMESPACE)).toBe(true);
  const [data] = made.flatMap(({ binaryData }) => (binaryData ? [binaryData as Record<string, string>] : []));
  expect(JSON.parse(gunzipSync(Buffer.from(data?.[LAYER_LIST_KEY] ?? '', 'base64')).toString())).toEqual(list);
  const job = JSON.stringify(made.at(-1));
  expect(job).toContain('"MODE","value":"inspect"');
  expect(job).not.toMatch(/PROXY|PULL_SECRET|REGISTR|config\.json/);
});

test('on OpenShift its account may be bound to the constraints, and the storage is mounted', () => {
  const made = objects({ vendor: 'OpenShift' });
  expect(made.filter(({ kind }) => kind === 'RoleBinding')).toHaveLength(2);
  expect(JSON.stringify(made.at(-1))).toContain('"path":"/var/lib/containers"');
});
