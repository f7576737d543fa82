import { expect, test } from 'vitest';
import { ReleaseErrorCode } from '../errors.ts';
import { parseUpdateGraph, releaseImages } from './graph.ts';

test('what a service leaves out is empty', () => {
  expect(parseUpdateGraph('{}')).toEqual({ nodes: [], edges: [], conditionalEdges: [] });
  expect(parseUpdateGraph('{"nodes":null,"edges":null,"conditionalEdges":null,"version":1}')).toEqual({
    nodes: [],
    edges: [],
    conditionalEdges: [],
  });
});

test.each([
  { name: 'no JSON', text: '<html>', want: /^Unexpected token/ },
  { name: 'a list', text: '[]', want: /^the document: / },
  { name: 'a version that is a number', text: '{"nodes":[{"version":4}]}', want: /^nodes\.0\.version: / },
  { name: 'an edge of one end', text: '{"nodes":[{}],"edges":[[0]]}', want: /^edges\.0: must be two positions in nodes$/ },
  { name: 'an edge of three ends', text: '{"nodes":[{}],"edges":[[0,0,0]]}', want: /^edges\.0: must be two positions in nodes$/ },
  { name: 'an edge to half a node', text: '{"nodes":[{}],"edges":[[0,0.5]]}', want: /^edges\.0: must be two whole numbers from 0$/ },
  { name: 'an edge before the first node', text: '{"nodes":[{}],"edges":[[0,-1]]}', want: /^edges\.0: must be two whole numbers from 0$/ },
  {
    name: 'an edge past the last node',
    text: '{"nodes":[{}],"edges":[[0,1]]}',
    want: /^edges: "\[0,1\]" names a node that is not there: there are 1$/,
  },
])('refuses $name', ({ text, want }) =>
  expect(() => parseUpdateGraph(text)).toThrow(
    expect.objectContaining({ code: ReleaseErrorCode.updateGraphInvalid, message: expect.stringMatching(want) }),
  ),
);

test('the first node of a version that has an image counts', () => {
  const nodes = [
    { version: '4.20.0', payload: '' },
    { version: '4.20.0', payload: 'a' },
    { version: '4.20.0', payload: 'b' },
    { version: '4.20.1', payload: '' },
  ];
  expect([...releaseImages(parseUpdateGraph(JSON.stringify({ nodes })))]).toEqual([['4.20.0', 'a']]);
});
