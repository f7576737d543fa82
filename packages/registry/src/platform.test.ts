import { expect, test } from 'vitest';
import { type Platform, platformRank } from './platform.ts';

const read = (text: string): Platform => {
  const [os = '', architecture = '', variant] = text.split('/');
  return { os, architecture, ...(variant !== undefined && { variant }) };
};

test.each([
  { wanted: 'linux/amd64', takes: 'linux/amd64 linux/386', not: 'linux/amd64/v2 linux/amd64/v3 linux/arm64 windows/amd64 unknown/unknown' },
  { wanted: 'linux/amd64/v3', takes: 'linux/amd64/v3 linux/amd64/v2 linux/amd64 linux/386', not: 'linux/amd64/v4' },
  { wanted: 'linux/amd64', takes: 'linux/amd64/v1', not: '' },
  { wanted: 'linux/amd64', takes: '/x86_64', not: '/' },
  { wanted: 'linux/arm64', takes: 'linux/arm64/v8 linux/arm/v8 linux/arm/v7 linux/arm/v6 linux/arm/v5', not: 'linux/arm64/v9 linux/amd64' },
  { wanted: 'linux/arm64', takes: 'linux/aarch64', not: '' },
  { wanted: 'linux/arm/v7', takes: 'linux/arm linux/arm/v6 linux/arm/v5', not: 'linux/arm/v8 linux/arm64' },
  { wanted: 'linux/arm/v6', takes: 'linux/arm/6 linux/arm/v5', not: 'linux/arm linux/armhf' },
  { wanted: 'linux/s390x', takes: 'linux/s390x', not: 'linux/amd64' },
])('$wanted takes $takes in this order', ({ wanted, takes, not }) => {
  const rank = (text: string) => platformRank(read(wanted), read(text));
  const ranks = takes.split(' ').map(rank);
  expect(ranks).not.toContain(undefined);
  expect(ranks).toEqual(ranks.toSorted((a = 0, b = 0) => a - b));
  expect(not.split(' ').filter(Boolean).map(rank)).toEqual(
    not
      .split(' ')
      .filter(Boolean)
      .map(() => undefined),
  );
});
