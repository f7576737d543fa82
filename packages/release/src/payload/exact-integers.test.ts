import { parseJson } from '@flotilla/api';
import { expect, test } from 'vitest';
import { covers } from '../builders/covers.ts';
import { parseManifests } from './manifest.ts';

const SERIAL = '9007199254740993';
const BOUND = '9223372036854775807';
const bytes = (text: string) => new TextEncoder().encode(text);

test.each([
  { name: 'YAML', text: `apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: one\nspec:\n  serial: ${SERIAL}\n` },
  { name: 'JSON', text: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"serial":${SERIAL}}}` },
])('an integer that no double holds is the same in an object of $name', ({ text }) => {
  const [manifest] = parseManifests('one', bytes(text));
  expect(JSON.stringify(manifest?.object.spec)).toBe(`{"serial":${SERIAL}}`);
  expect(covers(parseJson(`{"serial":${SERIAL}}`), manifest?.object.spec)).toBe(true);
  expect(covers(parseJson('{"serial":9007199254740992}'), manifest?.object.spec)).toBe(false);
});

test('a bound in a definition is the double that the server keeps, and no drift', () => {
  const head = '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"}';
  const [manifest] = parseManifests('crd', bytes(`${head},"spec":{"maximum":${BOUND}}}`));
  expect(covers(parseJson('{"maximum":9223372036854775808}'), manifest?.object.spec)).toBe(true);
});

test('a default in a definition is written as it stands, beside a bound that is a double', () => {
  const head = '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"}';
  const [manifest] = parseManifests('crd', bytes(`${head},"spec":{"a":[{"maximum":${BOUND},"default":${SERIAL}}],"enum":[${SERIAL}]}}`));
  expect(JSON.stringify(manifest?.object.spec)).toBe(`{"a":[{"maximum":9223372036854776000,"default":${SERIAL}}],"enum":[${SERIAL}]}`);
});
