import { expect, test } from 'vitest';
import { graphOf, isTestSource, productMains, reachedFrom } from '../../tools/src/source-graph.ts';
import { graph } from './repository.ts';
import { unusedExports, unusedNames } from './unused-exports.ts';

/** Files of apps and packages that are in `src` and no program needs. */
const idleIn = (sources: typeof graph): string[] => {
  const reached = reachedFrom(sources, productMains(sources));
  return [...sources.modules.keys()].filter((file) => /^(apps|packages)\//.test(file) && !isTestSource(file) && !reached.has(file));
};
/** Test support that a program needs. */
const testSupportIn = (sources: typeof graph): string[] => [...reachedFrom(sources, productMains(sources))].filter(isTestSource);

test('src holds what programs need, and nothing that tests alone need', () => {
  expect(productMains(graph).length).toBeGreaterThan(6);
  expect(idleIn(graph)).toEqual([]);
});

test('no program needs test support', () => {
  expect(testSupportIn(graph)).toEqual([]);
});

test('a file for tests in src is found, and test support that a program takes', () => {
  const texts = new Map([
    ['apps/a/src/main.ts', "import { run } from '@flotilla/b';\nimport { world } from '../testing/world.ts';"],
    ['apps/a/src/builders.ts', 'export const build = 1;'],
    ['apps/a/testing/world.ts', "import { build } from '../src/builders.ts';\nexport const world = build;"],
    ['packages/b/src/index.ts', "export { run } from './run.ts';\nexport { fake } from './fake.ts';"],
    ['packages/b/src/run.ts', "export const run = await import('./late.ts');"],
    ['packages/b/src/late.ts', "export const worker = new URL('./worker.ts', import.meta.url);"],
    ['packages/b/src/worker.ts', 'export const works = true;'],
    ['packages/b/src/fake.ts', 'export const fake = 1;'],
    ['packages/b/src/fake.test.ts', "import { fake } from '@flotilla/b';"],
  ]);
  const sources = graphOf(texts, new Map([['@flotilla/b', 'packages/b/src/index.ts']]));
  expect(idleIn(sources)).toEqual(['packages/b/src/fake.ts']);
  expect(testSupportIn(sources)).toEqual(['apps/a/testing/world.ts']);
});

test('a package opens the names that others import, and no more', () => {
  expect(unusedNames(graph)).toEqual([]);
});

test('a file exports what other files import, and no more', () => {
  expect(unusedExports(graph)).toEqual([]);
});

test('a name that nobody outside imports is found, and an export that no other file imports', () => {
  const texts = new Map([
    ['apps/a/src/main.ts', "import { used } from '@flotilla/b';\nimport { one } from './one.ts';\nexport interface Nobody {}"],
    ['apps/a/src/one.ts', 'export const one = 1;\nexport const two = 2;\nexport type Three = 3;'],
    ['apps/a/src/one.test.ts', "import { two } from './one.ts';"],
    ['packages/b/src/index.ts', "export { used, idle, type Shape } from './b.ts';\nexport * from './c.ts';"],
    ['packages/b/src/b.ts', "import { own } from './c.ts';\nexport const used = own;\nexport const idle = 2;\nexport interface Shape {}"],
    ['packages/b/src/c.ts', 'export const own = 1;'],
    ['packages/b/src/b.test.ts', "import { idle } from '@flotilla/b';"],
  ]);
  const sources = graphOf(texts, new Map([['@flotilla/b', 'packages/b/src/index.ts']]));
  expect(unusedNames(sources)).toEqual(['@flotilla/b: idle', '@flotilla/b: Shape', '@flotilla/b: own']);
  expect(unusedExports(sources)).toEqual(['apps/a/src/main.ts: Nobody', 'apps/a/src/one.ts: Three']);
});
