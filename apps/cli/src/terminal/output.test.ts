import { expect, test } from 'vitest';
import { readTerminal } from '../config.ts';
import { writeOut } from './output.ts';

/** All that is written to a stream. */
function written(text: string, { isTTY, hasUtf8 }: { isTTY: boolean; hasUtf8: boolean }): string {
  let all = '';
  const write = (part: string): boolean => {
    all += part;
    return true;
  };
  writeOut(text, { isTTY, write }, { hasUtf8 });
  return all;
}

const PAGE = 'site-1   policy upgrade-4…   3   ≤ 193 of 193   ██░░\n└ site-1: “4.18” → ‘4.19’ • …and more\n';

test('a terminal without UTF-8 gets ASCII in columns of the same width', () =>
  expect(written(PAGE, { isTTY: true, hasUtf8: false })).toBe(
    `site-1   policy upgrade-4... 3   <=193 of 193   ##..\n\` site-1: "4.18" -> '4.19' * ...and more\n`,
  ));

test.each([
  { isTTY: true, hasUtf8: true },
  { isTTY: false, hasUtf8: false },
  { isTTY: false, hasUtf8: true },
])('what goes to $isTTY, $hasUtf8 is written as it is', (to) => expect(written(PAGE, to)).toBe(PAGE));

test('names of clusters in other scripts stay as they are', () =>
  expect(written('größe 東京', { isTTY: true, hasUtf8: false })).toBe('größe 東京'));

test.each([
  [{ LANG: 'en_US.UTF-8' }, true],
  [{ LANG: 'de_DE.utf8' }, true],
  [{ LANG: 'C.UTF-8', LC_ALL: '' }, true],
  [{ LANG: 'C', LC_CTYPE: 'C.UTF-8' }, true],
  [{ LANG: 'en_US.UTF-8', LC_ALL: 'C' }, false],
  [{ LANG: 'en_US.UTF-8', LC_CTYPE: 'POSIX' }, false],
  [{ LANG: 'de_DE.ISO-8859-1' }, false],
  [{}, false],
])('the locale of %j has UTF-8: %s', (env, want) => expect(readTerminal(env).hasUtf8).toBe(want));
