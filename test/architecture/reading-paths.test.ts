import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { graphOf } from '../../tools/src/source-graph.ts';
import { brokenPlaces, lengthOf, readingPathsIn, roomsEnteredTwice } from './reading-paths.ts';
import { graph, root } from './repository.ts';

const paths = readingPathsIn(await readFile(resolve(root, 'CONTRIBUTING.md'), 'utf8'));
/** Files that a value passes at most. */
const MOST_FILES = 30;
/** Paths that enter no room twice. */
const STRAIGHT = [
  'A field of PreCachingConfig to the Job',
  'A policy that turns compliant to the next batch',
  'A failed Job to the status',
  'A deletion in flight',
];

test('reading paths name files that exist, each called by one above it or reached by carriage that is named', () => {
  expect(paths.map(({ title }) => title)).toEqual([
    ...STRAIGHT,
    'An UpgradeConfig to ClusterVersion',
    'A manifest of a release to the cluster',
  ]);
  expect(paths.flatMap((path) => brokenPlaces(path, graph))).toEqual([]);
});

test('a value passes few files, and no room twice where that is said', () => {
  expect(paths.filter((path) => lengthOf(path) > MOST_FILES).map((path) => `${path.title}: ${lengthOf(path)} files`)).toEqual([]);
  expect(paths.filter(({ title }) => STRAIGHT.includes(title)).flatMap(roomsEnteredTwice)).toEqual([]);
});

test('a file that is gone, one that nothing leads to, and a room that is entered again are found', () => {
  const texts = new Map([
    ['apps/a/src/one/first.ts', "import { next } from './next.ts';\nimport type { Port } from './port.ts';\nexport const first = next;"],
    ['apps/a/src/one/next.ts', 'export const next = 1;'],
    ['apps/a/src/one/alone.ts', 'export const alone = 1;'],
    ['apps/a/src/one/port.ts', 'export interface Port {}'],
    ['apps/a/src/two/behind.ts', "import type { Port } from '../one/port.ts';\nexport const behind: Port = {};"],
  ]);
  const [path] = readingPathsIn(`# Work

## Reading paths

### A value
1. \`apps/a/src/one\`: \`first.ts\` begins; \`next.ts\` goes
   on; \`gone.ts\` ends.
   - \`apps/a/src/two\`: through \`Port\`, \`behind.ts\` does it.
     - \`apps/a/src/one\`, instead: \`alone.ts\` does it.
2. By the queue, \`apps/a/src/one\`: \`alone.ts\` runs; through \`Other\`, \`first.ts\` does.

## Next`);
  if (!path) throw new Error('a path is read');
  expect(brokenPlaces(path, graphOf(texts))).toEqual([
    'A value: apps/a/src/one/gone.ts does not exist',
    'A value: nothing above leads to apps/a/src/one/alone.ts',
    'A value: nothing above leads to apps/a/src/one/first.ts through Other',
  ]);
  expect([lengthOf(path), roomsEnteredTwice(path)]).toEqual([6, ['apps/a/src/one']]);
});
