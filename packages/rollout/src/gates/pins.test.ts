import { expect, test } from 'vitest';
import { readPins, strongerPins } from './pins.ts';

const read = (value: string | undefined, preCaching = true) =>
  readPins({
    metadata: { annotations: value === undefined ? {} : { 'flotilla.io/pins': value } },
    spec: { preCaching } as Parameters<typeof readPins>[0]['spec'],
  });

test('nothing is pinned unless it is asked for', () => {
  expect(read(undefined)).toEqual({});
  expect(read('runtime')).toEqual({ pins: 'runtime' });
  expect(read('pinned-image-set')).toEqual({ pins: 'pinned-image-set' });
});

test.each(['true', '', 'Runtime', 'runtime,pinned-image-set', 'x'.repeat(1_000)])('%j is refused by name, with the fix', (value) => {
  const { pins, problem = '' } = read(value);
  expect(pins).toBeUndefined();
  expect(problem).toMatch(/^Annotation flotilla\.io\/pins is ".*", which is not known; write "runtime" or "pinned-image-set"/);
  expect(problem.length).toBeLessThan(600);
});

test('an upgrade that pulls nothing can pin nothing', () => {
  expect(read('runtime', false).problem).toMatch(/^Annotation flotilla\.io\/pins stands on an upgrade that pre-caches nothing; write/);
});

test('sets that were made once are removed at the end, whatever is asked for meanwhile', () => {
  expect(strongerPins('pinned-image-set', 'runtime')).toBe('pinned-image-set');
  expect(strongerPins('runtime', 'pinned-image-set')).toBe('pinned-image-set');
  expect([strongerPins('runtime', undefined), strongerPins(undefined, undefined)]).toEqual(['runtime', undefined]);
});
