import { describe, expect, test } from 'vitest';
import { parseModule, specifiersOf } from '../../tools/src/source-graph.ts';
import { findCycle, foldersInCircles, packageOf, siblingsInCircles, undocumentedExports } from './source-imports.ts';

describe('importsOf', () => {
  test.each([
    { name: 'a named import', given: "import { a } from './a.ts';", want: ['./a.ts'] },
    { name: 'a type import', given: "import type { A } from 'a';", want: ['a'] },
    { name: 'an import over lines', given: "import {\n  a,\n  type B,\n} from '@x/a';", want: ['@x/a'] },
    { name: 'an import for its effect', given: "import './a.ts';", want: ['./a.ts'] },
    { name: 'a re-export', given: "export { a } from './a.ts';\nexport * from './b.ts';", want: ['./a.ts', './b.ts'] },
    { name: 'a dynamic import', given: `const a = await ${'import'}('a/b');`, want: ['a/b'] },
    { name: 'no comment', given: "// import 'a';\n/* import 'b'; */", want: [] },
    { name: 'no plain export', given: "export const a = 'import';\nexport function f() { return ' from '; }", want: [] },
  ])('finds $name', ({ given, want }) => expect(specifiersOf(parseModule(given))).toEqual(want));
});

test.each([
  { specifier: 'zod', want: 'zod' },
  { specifier: '@flotilla/api/testing', want: '@flotilla/api' },
  { specifier: 'vitest/config', want: 'vitest' },
  { specifier: './a.ts', want: undefined },
  { specifier: 'node:fs', want: undefined },
])('packageOf $specifier is $want', ({ specifier, want }) => expect(packageOf(specifier)).toBe(want));

test.each<{ name: string; graph: Record<string, string[]>; want: string[] }>([
  { name: 'a cycle of three', graph: { a: ['b'], b: ['c'], c: ['a'] }, want: ['a', 'b', 'c', 'a'] },
  { name: 'a cycle behind a way in', graph: { a: ['b'], b: ['c'], c: ['b'] }, want: ['b', 'c', 'b'] },
  { name: 'no cycle in a diamond', graph: { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, want: [] },
])('findCycle finds $name', ({ graph, want }) => expect(findCycle(new Map(Object.entries(graph)))).toEqual(want));

test.each<{ name: string; arrows: [string, string][]; folders: string[]; siblings: string[] }>([
  {
    name: 'down',
    arrows: [
      ['apps/a/src/hub.ts', 'apps/a/src/x/one.ts'],
      ['apps/a/src/x/one.ts', 'apps/a/src/y/two.ts'],
    ],
    folders: [],
    siblings: [],
  },
  {
    name: 'between two folders',
    arrows: [
      ['apps/a/src/x/one.ts', 'apps/a/src/y/one.ts'],
      ['apps/a/src/y/two.ts', 'apps/a/src/x/two.ts'],
    ],
    folders: ['apps/a/src/x', 'apps/a/src/y'],
    siblings: ['apps/a/src/x', 'apps/a/src/y'],
  },
  {
    name: 'up from a folder of a folder',
    arrows: [
      ['apps/a/src/x/one.ts', 'apps/a/src/y/one.ts'],
      ['apps/a/src/y/deep/two.ts', 'apps/a/src/x/two.ts'],
    ],
    folders: [],
    siblings: ['apps/a/src/x', 'apps/a/src/y'],
  },
  {
    name: 'up to the folder above',
    arrows: [
      ['apps/a/src/x/one.ts', 'apps/a/src/x/deep/one.ts'],
      ['apps/a/src/x/deep/one.ts', 'apps/a/src/x/two.ts'],
    ],
    folders: ['apps/a/src/x', 'apps/a/src/x/deep'],
    siblings: [],
  },
  {
    name: 'by an index',
    arrows: [
      ['packages/a/src/index.ts', 'packages/a/src/x/one.ts'],
      ['packages/a/src/x/one.ts', 'packages/a/src/two.ts'],
    ],
    folders: [],
    siblings: [],
  },
])('of arrows $name, folders $folders and siblings $siblings form circles', ({ arrows, folders, siblings }) => {
  expect(foldersInCircles(arrows)).toEqual(folders);
  expect(siblingsInCircles(arrows)).toEqual(siblings);
});

test.each([
  { name: 'without a comment', given: 'const a = 1;\nexport const b = 2;', want: ['b'] },
  { name: 'of a group, but the first', given: '/** Sizes. */\nexport const a = 1;\nexport const b = 2;', want: [] },
  { name: 'after a gap', given: '/** A size. */\nexport const a = 1;\n\nexport function b() {}', want: ['b'] },
  {
    name: 'of a type whose value is described',
    given: '/** A key. */\nexport const A = z.object({});\n\nexport type A = { b: 1 };',
    want: [],
  },
  { name: 'derived from a constant', given: 'const all = [1] as const;\nexport type One = (typeof all)[number];', want: [] },
])('undocumentedExports tells of an export $name: $want', ({ given, want }) => expect(undocumentedExports(given)).toEqual(want));
