import { describe, expect, test } from 'vitest';
import { findCycle, importsOf, packageOf, undocumentedExports } from './source-imports.ts';

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
  ])('finds $name', ({ given, want }) => expect(importsOf(given)).toEqual(want));
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
