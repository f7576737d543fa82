import { expect, test } from 'vitest';
import { toCsv } from './csv.ts';

test('values are quoted where they must be', () => {
  expect(
    toCsv(
      ['Spoke', 'Batch', 'Cause'],
      [
        ['a', 3, 'says "no", twice'],
        ['b', null, 'two\nlines'],
      ],
    ),
  ).toBe('Spoke,Batch,Cause\r\na,3,"says ""no"", twice"\r\nb,,"two\nlines"\r\n');
});

test.each(['=HYPERLINK("http://evil.test")', '+1', '-1', '@SUM(A1)', '\t=1'])('%j is a text in a spreadsheet', (text) => {
  expect(toCsv(['says'], [[text]])).toBe(`says\r\n"'${text.replaceAll('"', '""')}"\r\n`);
});

test('what would move the cursor of a terminal is escaped', () =>
  expect(toCsv(['says'], [['a\u001b[2J\u009b5A\u202e\r=1']])).toBe(String.raw`says${'\r\n'}a\u001b[2J\u009b5A\u202e\u000d=1${'\r\n'}`));

test('a number stays one, be it negative', () => expect(toCsv(['n'], [[-1]])).toBe('n\r\n-1\r\n'));
