import { nulledFields } from '@flotilla/api/testing';
import { expect, test } from 'vitest';
import { readCatalogue } from './catalogue/catalogue.ts';
import { parseImageReferences } from './payload/image-references.ts';
import { parseUpdateGraph } from './update-graph/graph.ts';

const channel = {
  schema: 'olm.channel',
  package: 'p',
  name: 'stable',
  entries: [{ name: 'p.v2', replaces: 'p.v1', skips: ['p.v0'], skipRange: '<2.0.0' }],
};
const bundle = {
  schema: 'olm.bundle',
  package: 'p',
  name: 'p.v2',
  properties: [{ type: 'olm.package', value: { packageName: 'p', version: '2.0.0' } }],
  relatedImages: [{ name: 'n', image: 'registry.test/a@sha256:1' }],
};

/** Head of the channel in a catalogue of both documents, or the refusal. */
const headOf = async (documents: readonly unknown[]): Promise<unknown> => {
  const content = Buffer.from(documents.map((each) => JSON.stringify(each)).join('\n'));
  const catalogue = await readCatalogue([{ path: 'catalog.json', content }], ['p']);
  return catalogue.head({ package: 'p', channel: 'stable' });
};

const stream = {
  kind: 'ImageStream',
  metadata: { name: '4.20.1', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { tags: [{ name: 'etcd', from: { kind: 'DockerImage', name: 'registry.test/etcd@sha256:1' } }] },
};
const graph = {
  nodes: [
    { version: '4.20.1', payload: 'a', metadata: { url: 'u' } },
    { version: '4.20.2', payload: 'b' },
  ],
  edges: [[0, 1]],
  conditionalEdges: [
    {
      edges: [{ from: '4.20.1', to: '4.20.2' }],
      risks: [{ url: 'u', name: 'n', message: 'm', matchingRules: [{ type: 'PromQL', promql: { promql: 'up' } }] }],
    },
  ],
};

test.each<[string, unknown, (document: unknown) => unknown]>([
  ['a channel', channel, (document) => headOf([document, bundle])],
  ['a bundle', bundle, (document) => headOf([channel, document])],
  ['the components of a release', stream, (document) => parseImageReferences(Buffer.from(JSON.stringify(document)), 'r')],
  ['an update graph', graph, (document) => parseUpdateGraph(JSON.stringify(document))],
])('null is absent in every field of %s', async (_, document, read) => {
  const outcome = async (given: unknown): Promise<string> => {
    try {
      return JSON.stringify(await read(given), (__, value: unknown) => (value === null ? undefined : value));
    } catch (error) {
      return String(error);
    }
  };
  for (const { path, absent, nulled } of nulledFields(document))
    expect([path, await outcome(nulled)]).toEqual([path, await outcome(absent)]);
});
