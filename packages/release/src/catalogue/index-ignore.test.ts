import { expect, test } from 'vitest';
import type { CatalogueFile } from './documents.ts';
import { withoutIgnored } from './index-ignore.ts';

const file = (path: string, text = ''): CatalogueFile => ({ path, content: new TextEncoder().encode(text) });
const paths = ['configs/a/catalog.json', 'configs/a/notes', 'configs/b/catalog.yaml', 'configs/b/test/x.json', 'configs/top.json'];

/** Returns the part of `paths` that these ignore files leave. */
const left = (ignore: Record<string, string>): string[] =>
  withoutIgnored([...paths.map((path) => file(path)), ...Object.entries(ignore).map(([path, text]) => file(path, text))]).map(
    ({ path }) => path,
  );
const without = (...names: string[]): string[] => paths.filter((path) => !names.includes(path));

test.each<[string, string, string[]]>([
  ['nothing', '# comment\n\n   \n', paths],
  ['a name at any depth', 'notes', without('configs/a/notes')],
  ['a folder with all below', 'b', without('configs/b/catalog.yaml', 'configs/b/test/x.json')],
  ['a folder alone', 'notes/\ntest/\r\n', without('configs/b/test/x.json')],
  ['a path from the folder of the file', '/top.json\na/notes  ', without('configs/top.json', 'configs/a/notes')],
  ['a path that is not from there', 'test/x.json', paths],
  ['any depth between', '**/x.json', without('configs/b/test/x.json')],
  ['any depth below', 'b/**', without('configs/b/catalog.yaml', 'configs/b/test/x.json')],
  ['stars and question marks', '*.j?on', without('configs/a/catalog.json', 'configs/b/test/x.json', 'configs/top.json')],
  ['classes', '[n-p]*[^n]', without('configs/a/notes')],
  ['an escape', '\\notes', without('configs/a/notes')],
  ['an exception', '*.json\n!top.json', without('configs/a/catalog.json', 'configs/b/test/x.json')],
  ['a bracket of a class behind a backslash', '[\\]n]otes', without('configs/a/notes')],
  ['a class that does not end matches nothing', '[a-', paths],
  ['a class that begins with its end matches nothing', '[]n]otes', paths],
])('%s', (_, text, want) => {
  expect(left({ 'configs/.indexignore': text })).toEqual(want);
});

test('an ignore file holds below its folder, and wins over those above', () => {
  expect(left({ 'configs/b/.indexignore': '*' })).toEqual(without('configs/b/catalog.yaml', 'configs/b/test/x.json'));
  expect(left({ 'configs/b/.indexignore': '!x.json', 'configs/.indexignore': '*.json' })).toEqual(
    without('configs/a/catalog.json', 'configs/top.json'),
  );
});

test('ignore files are bounded', () => {
  expect(() => left({ '.indexignore': 'x\n'.repeat(501) })).toThrow(/more than 500 patterns/);
  expect(() => left({ '.indexignore': '*'.repeat(257) })).toThrow(/more than 256 characters/);
  expect(() => left({ '.indexignore': '#'.repeat(70_000) })).toThrow(/more than 65536 bytes/);
});

test('a pattern of many stars takes its time with nobody', () => {
  const started = process.cpuUsage();
  for (let i = 0; i < 100; i++) withoutIgnored([file('a'.repeat(255)), file('.indexignore', `${'*a'.repeat(120)}*b`)]);
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
});
