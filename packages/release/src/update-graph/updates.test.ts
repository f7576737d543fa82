import { describe, expect, test } from 'vitest';
import { ReleaseErrorCode } from '../errors.ts';
import { parseUpdateGraph } from './graph.ts';
import { findUpdates, type GraphUpdates } from './updates.ts';

const always = { name: 'Leak', message: 'It leaks.', url: 'https://example.com/leak', matchingRules: [{ type: 'Always' }] };
const nodes = ['4.20.0', '4.20.1', '4.20.2', '4.21.0'].map((version, index) => ({ version, payload: `r@sha256:${index}` }));

const find = (graph: object, more: { version?: string; isMigration?: boolean } = {}) =>
  findUpdates(parseUpdateGraph(JSON.stringify({ nodes, ...graph })), {
    version: '4.20.1',
    channel: 'stable-4.20',
    isMigration: false,
    ...more,
  });
/** Versions of updates, and behind a blank of those under conditions. */
function texts(found: ReturnType<typeof findUpdates>): string {
  if (!('updates' in found)) return `${found.reason}: ${found.message}`;
  const { updates, conditional }: GraphUpdates = found;
  return [updates.map(({ version }) => version).join(','), conditional.map(({ release }) => release.version).join(',')].join(' ');
}
const conditional = (risks: object[], to = '4.20.2', from = '4.20.1') => ({ conditionalEdges: [{ edges: [{ from, to }], risks }] });

test.each([
  { name: 'no edges', graph: {}, want: ' ' },
  { name: 'edges of other releases', graph: { edges: [[0, 2]] }, want: ' ' },
  {
    name: 'edges, one of them twice',
    graph: {
      edges: [
        [1, 2],
        [1, 3],
        [1, 2],
        [0, 1],
      ],
    },
    want: '4.20.2,4.21.0 ',
  },
  { name: 'an edge under conditions', graph: conditional([always]), want: ' 4.20.2' },
  { name: 'an edge under conditions from another release', graph: conditional([always], '4.20.2', '4.20.0'), want: ' ' },
  {
    name: 'one target with and without conditions',
    graph: {
      edges: [
        [1, 2],
        [1, 3],
      ],
      ...conditional([always]),
    },
    want: '4.21.0 4.20.2',
  },
  { name: 'conditions without a risk', graph: conditional([]), want: ' ' },
  {
    name: 'a rule nobody knows beside one that is known',
    graph: conditional([{ ...always, matchingRules: [{ type: 'Moon' }, { type: 'Always' }] }]),
    want: ' 4.20.2',
  },
  {
    name: 'a risk with no rule that is known',
    graph: { edges: [[1, 2]], ...conditional([always, { ...always, name: 'B', matchingRules: [{ type: 'Moon' }] }]) },
    want: ' ',
  },
  { name: 'PromQL without a query', graph: conditional([{ ...always, matchingRules: [{ type: 'PromQL' }] }]), want: ' ' },
  {
    name: 'PromQL with an empty query',
    graph: conditional([{ ...always, matchingRules: [{ type: 'PromQL', promql: { promql: '' } }] }]),
    want: ' ',
  },
  {
    name: 'Always with a query',
    graph: conditional([{ ...always, matchingRules: [{ type: 'Always', promql: { promql: 'up' } }] }]),
    want: ' ',
  },
  { name: 'two risks of one name, which no server stores', graph: conditional([always, always]), want: ' ' },
  { name: 'a risk without a text', graph: conditional([{ ...always, message: '' }]), want: ' ' },
  { name: 'a risk whose URL is none', graph: conditional([{ ...always, url: 'see the docs' }]), want: ' ' },
  { name: 'a risk with a text that is too long', graph: conditional([{ ...always, message: 'x'.repeat(16_385) }]), want: ' ' },
  {
    name: 'more risks than a server stores',
    graph: conditional(Array.from({ length: 201 }, (_, index) => ({ ...always, name: `R${index}` }))),
    want: ' ',
  },
  {
    name: 'two entries to one image',
    graph: { conditionalEdges: [...conditional([always]).conditionalEdges, ...conditional([{ ...always, name: 'B' }]).conditionalEdges] },
    want: ' ',
  },
])('$name', ({ graph, want }) => expect(texts(find(graph))).toBe(want));

test('several architectures are asked for alone: the running version is the one update', () =>
  expect(texts(find({ edges: [[1, 2]] }, { isMigration: true }))).toBe('4.20.1 '));

test('the running version is found whatever build it is of', () => {
  expect(texts(find({ edges: [[1, 2]] }, { version: '4.20.1+build' }))).toBe('4.20.2 ');
});

test('a running version that is not in the graph is told with the channel', () =>
  expect(texts(find({}, { version: '4.19.0' }))).toBe(
    'VersionNotFound: Unable to retrieve available updates: currently reconciling cluster version 4.19.0 not found in the "stable-4.20" channel',
  ));

test('a release is described as the graph does', () => {
  const metadata = {
    url: 'https://example.com/errata',
    'io.openshift.upgrades.graph.release.channels': 'stable,fast,stable',
    'release.openshift.io/architecture': 'multi',
  };
  const found = find({ nodes: [{ version: '4.20.1', payload: 'i', metadata }] });
  expect(found).toMatchObject({
    current: { version: '4.20.1', image: 'i', url: 'https://example.com/errata', channels: ['fast', 'stable'], architecture: 'Multi' },
  });
});

test('of a description only what a ClusterVersion can hold is taken', () => {
  const channels = Array.from({ length: 600 }, (_, index) => `c${index}`).join(',');
  const metadata = { url: `https://example.com/${'x'.repeat(5_000)}`, 'io.openshift.upgrades.graph.release.channels': channels };
  const found = find({ nodes: [{ version: '4.20.1', payload: 'i', metadata }] });
  expect('current' in found && [found.current.url, found.current.channels?.length]).toEqual([undefined, 500]);
});

describe('a graph that cannot be used', () => {
  test.each([
    {
      name: 'a version that is none',
      graph: { nodes: [...nodes, { version: 'latest', payload: 'i' }] },
      want: 'nodes.4.version: "latest" is not a semantic version',
    },
    { name: 'a conditional update to nowhere', graph: conditional([always], '4.99.0'), want: 'no node for conditional update 4.99.0' },
  ])('$name', ({ graph, want }) =>
    expect(() => find(graph)).toThrow(expect.objectContaining({ code: ReleaseErrorCode.updateGraphInvalid, message: want })),
  );
});
