import { expect, test } from 'vitest';
import { boundDetails } from './record-details.ts';

const record = (name: string, bytes: number) => ({
  name,
  state: 'timedout',
  currentManifestWork: { name: 'template', status: { manifests: 'x'.repeat(bytes) } },
});

test('details are kept as far as there is room, names always', () => {
  const records = [record('a', 400), { name: 'b', state: 'complete' }, record('c', 400), record('d', 400)];
  expect(boundDetails(records, 900)).toEqual([
    records[0],
    records[1],
    records[2],
    { name: 'd', state: 'timedout', currentManifestWork: { name: 'template' } },
  ]);
});

test('what was bounded stays as it is in the next pass', () => {
  const once = boundDetails([record('a', 500), record('b', 500), record('c', 500)], 1_100);
  expect(boundDetails(once, 1_100)).toEqual(once);
});

test('five thousand clusters that timed out fit in a status', () => {
  const records = Array.from({ length: 5_000 }, (_, index) => record(`spoke-${index}`, 4_000));
  expect(Buffer.byteLength(JSON.stringify(boundDetails(records)))).toBeLessThan(512 * 1024);
});
