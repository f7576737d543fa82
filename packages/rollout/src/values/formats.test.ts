import { expect, test } from 'vitest';
import { parseSpaceRequired } from './formats.ts';

test.each([
  ['40 GB', '38'],
  ['40 GiB', '40'],
  ['40GiB', '40'],
  ['35.5 GiB', '36'],
  ['1073741824', '1'],
  ['1073741825', '2'],
  ['0', '0'],
  ['1 b', '1'],
  ['500 MiB', '1'],
  ['1 TB', '932'],
  ['2TiB', '2048'],
  ['40g', '38'],
  ['40 GIB', '40'],
  [' 40 GiB\n', '40'],
  ['30 Gi', '30'],
  ['40Gi', '40'],
])('%j is %s GiB', (value, gib) => {
  expect(parseSpaceRequired(value, 'spec.spaceRequired')).toEqual({ gib });
});

test.each(['-1 GB', 'lots', '', 'GiB', '4 XB', '40  GB', '40 iB', '1e3', 'Infinity', '0x10', '4.0.1 GB', '4 GBB', '40 i'])(
  '%j is refused with the field and the fix',
  (value) => {
    expect(parseSpaceRequired(value, 'spec.spaceRequired').problem).toBe(
      `spec.spaceRequired ${JSON.stringify(value)} is not a size; write a number and a unit, for example 40 GiB`,
    );
  },
);

test('as the reference, a unit without its b is no size', () => {
  expect(parseSpaceRequired('30 Gi', 'f', true).problem).toMatch(/^f "30 Gi" is not a size/);
  expect(parseSpaceRequired('30 GiB', 'f', true)).toEqual({ gib: '30' });
});

test('a size no disk has is refused', () =>
  expect(parseSpaceRequired('99999 PiB', 'f').problem).toMatch(/^f "99999 PiB" is more than any disk has/));

test('a text of digits without end is refused at once, in a short message', () => {
  const started = process.cpuUsage();
  const { problem = '' } = parseSpaceRequired('9'.repeat(1_400_000), 'f');
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  expect(problem).toMatch(/is not a size; write a number and a unit/);
  expect(problem.length).toBeLessThan(500);
});
