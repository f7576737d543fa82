import { expect, test } from 'vitest';
import { choose } from './debian-packages.ts';

const locked = [
  { name: 'libc6', version: '1', sha256: 'a'.repeat(64) },
  { name: 'libgcc-s1', version: '2', sha256: 'b'.repeat(64) },
];
const log = () => undefined;

test('what the archive has is taken in the listed version, with the listed bytes', () => {
  expect(choose(locked, new Set(['libc6=1', 'libgcc-s1=2']), { log })).toEqual(locked);
});

test('a version that the archive no longer has is refused, with the command that renews the list', () => {
  expect(() => choose(locked, new Set(['libc6=1.1', 'libgcc-s1=2']), { log })).toThrow(
    /no longer has libc6=1: run npm run images -- --renew/,
  );
});

test('a trial build takes the newest in its place and says so', () => {
  const said: string[] = [];
  const wanted = choose(locked, new Set(['libc6=1.1', 'libgcc-s1=2']), { superseded: 'newest', log: (line) => void said.push(line) });
  expect(wanted).toEqual([{ name: 'libc6' }, locked[1]]);
  expect(said.join()).toContain('libc6=1');
});
