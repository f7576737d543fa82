import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { payloadFile, payloadFiles, payloadObject } from '../../testing/payload-fixture.ts';
import { INCLUDED } from '../../testing/release-builders.ts';
import { lintClusterOperatorFile, lintPayload } from './lint-payload.ts';

const operator = {
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterOperator',
  metadata: { name: 'some', annotations: INCLUDED, ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'a', uid: 'x' }] },
  spec: {},
  status: {
    versions: [{ name: 'operator', version: '4.20.1' }],
    relatedObjects: [{ group: '', resource: 'namespaces', name: 'a' }],
    conditions: [{ type: 'Available', status: 'True', reason: 'AsExpected', message: 'All is well' }],
  },
};
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.example.com', annotations: INCLUDED },
  spec: { group: 'example.com', scope: 'Namespaced', names: { kind: 'Boat' }, versions: [{ name: 'v1', served: true }] },
};

function file(random: RandomValues) {
  const object = random.mutate(random.pick([operator, crd, payloadObject('Deployment', random.text(5), { apiVersion: 'apps/v1' })]));
  const text = JSON.stringify(object) ?? 'null';
  const path = `${random.pick(['manifests', 'release-manifests'])}/0000_${random.below(99)}_${random.pick(['a', 'b'])}_x.json`;
  return payloadFile(path, random.chance(0.2) ? random.mutateText(text) : text);
}

const targets = [
  defineTarget('payloads that are looked at', {
    make: (random) => [...payloadFiles(), ...random.list(5, () => file(random))],
    run: async (files) => {
      const findings = await lintPayload(files);
      for (const { file: path, line, message } of findings)
        expect({ path, line, message }).toEqual({ path: expect.any(String), line: expect.any(Number), message: expect.any(String) });
      return findings;
    },
  }),
  defineTarget('ClusterOperators that are looked at', { make: file, run: (one) => lintClusterOperatorFile(one) }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
