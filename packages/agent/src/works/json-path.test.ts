import { parseJson } from '@flotilla/api';
import { expect, test } from 'vitest';
import { parseJsonPath, valuesAt } from './json-path.ts';

const OBJECT = {
  metadata: { labels: { 'kubernetes.io/os': 'linux' }, generation: 3 },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'Idle', status: 'False', count: 1 },
      { type: 'Prepared', status: 'True', count: 5, reason: 'a)b' },
    ],
    steps: ['one', 'two', 'three'],
    nothing: null,
  },
};

test.each([
  { path: '.status.phase', want: ['Running'] },
  { path: '{.status.phase}', want: ['Running'] },
  { path: '$.status.phase', want: ['Running'] },
  { path: "['status']['phase']", want: ['Running'] },
  { path: '.metadata.labels.kubernetes\\.io/os', want: ['linux'] },
  { path: '.metadata.labels["kubernetes.io/os"]', want: ['linux'] },
  { path: '.status.steps[0]', want: ['one'] },
  { path: '.status.steps[-1]', want: ['three'] },
  { path: '.status.steps[7]', want: [] },
  { path: '.status.steps[*]', want: ['one', 'two', 'three'] },
  { path: '.status.conditions[*].type', want: ['Idle', 'Prepared'] },
  { path: '.metadata.labels.*', want: ['linux'] },
  { path: '.status.conditions[?(@.type=="Prepared")].status', want: ['True'] },
  { path: ".status.conditions[?( @.type == 'Prepared' )].status", want: ['True'] },
  { path: '.status.conditions[?(@.type!="Prepared")].status', want: ['False'] },
  { path: '.status.conditions[?(@.count>1)].type', want: ['Prepared'] },
  { path: '.status.conditions[?(@.count<=1)].type', want: ['Idle'] },
  { path: '.status.conditions[?(@.count<=01)].type', want: ['Idle'] },
  { path: '.status.conditions[?(@.count>-0.5)].type', want: ['Idle', 'Prepared'] },
  { path: '.status.conditions[?(@.reason)].type', want: ['Prepared'] },
  { path: '.status.conditions[?(@.reason=="a)b")].type', want: ['Prepared'] },
  { path: '.status.conditions[?(@["type"]=="Idle")].status', want: ['False'] },
  { path: '.status.conditions[?(@.type=="Absent")].status', want: [] },
  { path: '.status.conditions[?(@.type>1)].status', want: [] },
  { path: '.status.absent.deeper', want: [] },
  { path: '.status.phase.deeper', want: [] },
  { path: ".status.phase'", want: [] },
  { path: '.status.nothing', want: [null] },
  { path: '.constructor', want: [] },
  { path: '.status.steps.length', want: [] },
])('$path leads to $want', ({ path, want }) => expect(valuesAt(parseJsonPath(path), OBJECT)).toEqual(want));

test.each([
  { path: '.a[?(@.n>1000)].s', want: ['x', 'y'] },
  { path: '.a[?(@.n==9007199254740993)].s', want: ['x'] },
  { path: '.a[?(@.n!=9007199254740993)].s', want: ['y', 'z'] },
])('$path leads to $want beside integers that no double holds', ({ path, want }) =>
  expect(valuesAt(parseJsonPath(path), parseJson('{"a":[{"n":9007199254740993,"s":"x"},{"n":1001,"s":"y"},{"n":1,"s":"z"}]}'))).toEqual(
    want,
  ),
);

test.each([
  { path: '', says: 'character 1: expected "." or "["' },
  { path: 'status.phase', says: 'character 1: expected "." or "["' },
  { path: '.', says: 'expected the name of a key' },
  { path: '.status..phase', says: '".." is not supported' },
  { path: '.status.steps[0:2]', says: 'ranges are not supported' },
  { path: ".status['a','b']", says: 'lists of keys' },
  { path: '.status.steps[', says: 'expected an index' },
  { path: '.status.steps[0', says: 'expected "]"' },
  { path: '.status.conditions[?(@.type==Idle)]', says: 'expected a text in quotes' },
  { path: '.status.conditions[?(@.type=="Idle)]', says: 'is not closed' },
  { path: '.status.conditions[?(@.type=="Idle"]', says: 'expected ")"' },
  { path: '.status phase', says: 'character 8: unexpected text' },
  { path: `.${'a'.repeat(3000)}`, says: 'at most 2048' },
])('$path is refused: $says', ({ path, says }) => expect(() => parseJsonPath(path)).toThrow(says));
