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

test.each(['=HYPERLINK("http://evil.test")', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('%j is a text in a spreadsheet', (text) => {
  expect(toCsv(['says'], [[text]])).toBe(`says\r\n"'${text.replaceAll('"', '""')}"\r\n`);
});

test('a number stays one, be it negative', () => expect(toCsv(['n'], [[-1]])).toBe('n\r\n-1\r\n'));
