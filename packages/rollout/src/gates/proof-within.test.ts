import { expect, test } from 'vitest';
import { readProofWithin } from './proof-within.ts';

const read = (value: string | undefined, preCaching = true) =>
  readProofWithin({
    metadata: { annotations: value === undefined ? {} : { 'flotilla.io/proof-within': value } },
    spec: { preCaching } as never,
  });

test.each([
  ['2h', 7_200_000],
  ['90m', 5_400_000],
  [' 1h30m ', 5_400_000],
  ['5m', 300_000],
  ['168h', 604_800_000],
])('%s is a time', (text, withinMs) => {
  expect(read(text)).toEqual({ withinMs });
});

test.each(['', '4m', '169h', '2', '2 h', 'soon', '-1h', '1.5h'])('%j is none, and is named with the fix', (text) => {
  expect(read(text).problem?.message).toMatch(/^Annotation flotilla.io\/proof-within is ".*", no duration; write a time from 5m to 168h/);
});

test('an upgrade that pulls nothing has nothing to prove', () => {
  expect(read('2h', false).problem?.message).toContain('pre-caches nothing');
  expect(read(undefined, false)).toEqual({});
});

test('a long text is cut', () => {
  expect(read('x'.repeat(5_000)).problem?.message.length).toBeLessThan(500);
});

test('where the server drops proofs, the CRD is named with the fix', () => {
  const upgrade = { metadata: { annotations: { 'flotilla.io/proof-within': '2h' } }, spec: { preCaching: true } as never };
  const { problem, withinMs } = readProofWithin(upgrade, false);
  expect(withinMs).toBeUndefined();
  expect(problem?.reason).toBe('ProofsDropped');
  expect(problem?.message).toMatch(/CustomResourceDefinition clustergroupupgrades\.ran\.openshift\.io of this hub drops; install the CRDs/);
});
