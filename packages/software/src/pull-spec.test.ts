import { describe, expect, test } from 'vitest';
import { parsePullSpec } from './pull-spec.ts';

const digest = `sha256:${'0'.repeat(64)}`;

test.each([
  ['without a final newline', 'host/a:1\nhost/b:1'],
  ['with a final newline', 'host/a:1\nhost/b:1\n'],
  ['with blank lines and blanks around', '\n\n  host/a:1\t\n   \n host/b:1 \n\n'],
  ['with carriage returns', 'host/a:1\r\nhost/b:1\r\n'],
  ['with a line twice', 'host/a:1\nhost/b:1\nhost/a:1'],
])('lines %s are the same, the last one included', (_, additionalImages) => {
  expect(parsePullSpec({ additionalImages }).additionalImages).toEqual(['host/a:1', 'host/b:1']);
});

test('every key is read', () => {
  expect(
    parsePullSpec({
      'platform.image': ` host/release@${digest}\n`,
      'operators.indexes': 'host/index:v4.20',
      'operators.packagesAndChannels': 'ptp-operator:stable\n sriov : stable-4.20 ',
      excludePrecachePatterns: 'aws\n\nvsphere',
      additionalImages: '',
      spaceRequired: '35',
    }),
  ).toEqual({
    platformImage: `host/release@${digest}`,
    operatorIndexes: ['host/index:v4.20'],
    packages: [
      { package: 'ptp-operator', channel: 'stable' },
      { package: 'sriov', channel: 'stable-4.20' },
    ],
    excludePatterns: ['aws', 'vsphere'],
    additionalImages: [],
    spaceRequiredGiB: 35,
  });
});

test.each([
  ['35', 35],
  ['1.5', 1.5],
  ['40 GiB', 40],
  ['', undefined],
])('spaceRequired %j is %s GiB', (spaceRequired, wanted) => {
  expect(parsePullSpec({ 'platform.image': 'host/r:1', spaceRequired }).spaceRequiredGiB).toBe(wanted);
});

test.each([
  ['35', undefined],
  ['20', 20],
  ['', undefined],
])('for operators alone spaceRequired %j is %s GiB: the default is no floor there', (spaceRequired, wanted) => {
  const operators = { 'operators.indexes': 'host/i:1', 'operators.packagesAndChannels': 'a:b' };
  expect(parsePullSpec({ ...operators, spaceRequired }).spaceRequiredGiB).toBe(wanted);
  expect(parsePullSpec({ ...operators, additionalImages: 'host/a:1', spaceRequired: '35' }).spaceRequiredGiB).toBe(35);
});

describe('refused, naming the key', () => {
  test.each<[string, Parameters<typeof parsePullSpec>[0], RegExp]>([
    ['nothing at all', {}, /platform\.image is empty/],
    ['only blanks', { 'platform.image': ' \n ' }, /platform\.image is empty/],
    ['two platform images', { 'platform.image': 'host/a:1\nhost/b:1' }, /platform\.image has 2/],
    ['a platform image with a blank', { 'platform.image': 'host/a 1' }, /platform\.image has the line "host\/a 1"/],
    ['an option as an image', { additionalImages: '--authfile=x' }, /additionalImages has the line/],
    ['a shell as an image', { additionalImages: 'a:$(id)' }, /additionalImages has the line/],
    ['a NUL', { additionalImages: 'a\0b' }, /additionalImages has the line/],
    ['an image of a megabyte', { additionalImages: 'a'.repeat(1e6) }, /additionalImages has the line/],
    [
      '20,000 images',
      { additionalImages: Array.from({ length: 20_000 }, (_, i) => `h/a:${i}`).join('\n') },
      /additionalImages has 20000 lines/,
    ],
    ['indexes without packages', { 'operators.indexes': 'host/i:1' }, /operators\.packagesAndChannels is empty/],
    ['a package with three parts', { 'operators.indexes': 'h/i:1', 'operators.packagesAndChannels': 'a:b:c' }, /write package:channel/],
    ['an empty channel', { 'operators.indexes': 'h/i:1', 'operators.packagesAndChannels': 'a:' }, /write package:channel/],
    ['a negative space', { 'platform.image': 'h/r:1', spaceRequired: '-1' }, /spaceRequired has the value "-1"/],
    ['a space that is text', { 'platform.image': 'h/r:1', spaceRequired: 'much' }, /write a number of GiB/],
    ['a space out of range', { 'platform.image': 'h/r:1', spaceRequired: '9'.repeat(40) }, /spaceRequired/],
  ])('%s', (_, keys, message) => {
    expect(() => parsePullSpec(keys)).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_PULLER_SPEC_INVALID', message: expect.stringMatching(message) }),
    );
  });
});
