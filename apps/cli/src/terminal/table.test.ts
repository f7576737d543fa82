import { describe, expect, test } from 'vitest';
import { cut, table, wrap } from './table.ts';

const rows = [
  ['policy upgrade-4.18 is NonCompliant on the cluster', '3', 'site-0093', '2 min'],
  ['short', '12', 'site-0001', '4 s'],
];
const heading = ['WAITING FOR', 'COUNT', 'EXAMPLE', 'SINCE'];

describe('a table on a narrow terminal', () => {
  test('shrinks its widest column, and keeps the others whole', () => {
    expect(table(heading, rows, { width: 60 })).toBe(
      [
        'WAITING FOR                        COUNT   EXAMPLE     SINCE',
        'policy upgrade-4.18 is NonCompl…   3       site-0093   2 min',
        'short                              12      site-0001   4 s',
      ].join('\n'),
    );
  });

  test('keeps names whole, and puts what has no room beside them below', () => {
    const names = [
      ['default/pulling', 'pre-caching', 'a cluster that is not available'],
      ['default/ended', 'timed-out', '-'],
    ];
    expect(table(['UPGRADE', 'STAGE', 'WAITING FOR'], names, { width: 45 })).toBe(
      [
        'UPGRADE           STAGE',
        '  WAITING FOR',
        'default/pulling   pre-caching',
        '  a cluster that is not available',
        'default/ended     timed-out',
      ].join('\n'),
    );
  });

  test('puts columns below the first ones where they have no room beside them, and cuts none', () => {
    const upgrades = [
      ['default/pulling', 'pre-caching', '0/3', '2/5', '1', 'a cluster that is not available'],
      ['default/ended', 'timed-out', '0/1', '-', '-', '-'],
    ];
    expect(table(['UPGRADE', 'STAGE', 'BATCH', 'DONE', 'FAILED', 'WAITING FOR'], upgrades, { width: 40 })).toBe(
      [
        'UPGRADE           STAGE         BATCH',
        '  DONE   FAILED',
        '  WAITING FOR',
        'default/pulling   pre-caching   0/3',
        '  2/5    1',
        '  a cluster that is not available',
        'default/ended     timed-out     0/1',
      ].join('\n'),
    );
  });

  test('is cut where its columns cannot be that narrow', () => {
    expect(
      table(heading, rows, { width: 20 })
        .split('\n')
        .every((line) => line.length <= 20),
    ).toBe(true);
  });

  test('is as wide as it needs to be where there is room', () => {
    expect(table(heading, rows, { width: 200 })).toBe(table(heading, rows));
  });
});

test.each([
  { name: 'a letter with its mark', texts: ['e\u0301te\u0301', 'ete'] },
  { name: 'a picture', texts: ['✅ ok', '日 ok'] },
])('$name takes the cells that terminals give it', ({ texts }) => {
  const lines = table(
    ['A', 'B'],
    texts.map((text) => [text, 'x']),
  )
    .split('\n')
    .slice(1);
  expect(lines.map((line) => line.slice(texts[lines.indexOf(line)]?.length))).toEqual(['   x', '   x']);
});

test('a text is cut between letters, each with its marks', () => expect(cut('e\u0301te\u0301s', 3)).toBe('e\u0301t…'));

test('gaps of several blanks are kept within a line and dropped at its end', () => {
  expect(wrap('fleet/release   waiting   batch 1 of 3', 24, '  ')).toBe('fleet/release   waiting\n  batch 1 of 3');
});
