import { FleetLimitsName } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { readLimits } from './read-limits.ts';

const read = (text: string) => readLimits({ [FleetLimitsName.key]: text });

test('limits in all, by label and by single values are read', () => {
  const text =
    'pulling: 200\nupgrading: 50\nbyLabel:\n- label: example.com/region\n  pulling: 20\n  values:\n    north: {pulling: 5}\n    "": {pulling: 1}\n';
  expect(read(text)).toEqual({
    limits: {
      pulling: 200,
      upgrading: 50,
      byLabel: [{ label: 'example.com/region', pulling: 20, values: { north: { pulling: 5 }, '': { pulling: 1 } } }],
    },
  });
});

test('an empty text limits nothing', () => {
  expect(read('')).toEqual({ limits: {} });
});

test.each([
  ['no places', 'pulling: 0', /limits\.yaml\.pulling is 0: /],
  ['a word', 'byLabel:\n- {label: region, upgrading: many}', /limits\.yaml\.byLabel\.0\.upgrading is "many": /],
  ['an unknown key', 'puling: 3', /puling/],
  ['an unknown key of a label', 'byLabel:\n- {label: region, most: 3}', /limits\.yaml\.byLabel\.0: .*most/],
  ['no label', 'byLabel:\n- {label: "a b", pulling: 3}', /limits\.yaml\.byLabel\.0\.label is "a b": is no label/],
  ['two rules for a label', 'byLabel:\n- {label: a, pulling: 3}\n- {label: a, pulling: 4}', /two entries for the label a/],
  ['fewer bytes than a cluster needs', 'bytesPerSecond: 10', /limits\.yaml\.bytesPerSecond is 10: /],
  ['no YAML', 'pulling: [3', /limits\.yaml is no YAML: line 1: /],
  ['a list', '- 3', /limits\.yaml: /],
  [
    'a bomb',
    `a: &a [1,1]\n${Array.from({ length: 12 }, (_, i) => `b${i}: &b${i} [*${i ? `b${i - 1}` : 'a'},*${i ? `b${i - 1}` : 'a'}]`).join('\n')}`,
    /no YAML/,
  ],
])('%s is refused with key and value', (_, text, says) => {
  expect(read(text).problem).toMatch(says);
});

test('another key than the one is no silence', () => {
  expect(readLimits({ 'limits.yml': 'pulling: 3' }).problem).toMatch(/its key is "limits\.yml"/);
  expect(readLimits({ [FleetLimitsName.key]: '', more: '' }).problem).toMatch(/key "more" stands beside limits\.yaml/);
  expect(readLimits({}).problem).toMatch(/it has no key/);
});
