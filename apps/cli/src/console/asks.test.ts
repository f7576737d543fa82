import { transportCrds } from '@flotilla/api/ocm';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { expect, test } from 'vitest';
import { askSpoke } from './asks.ts';

test.each([
  ['the time of its report', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  ['none where the hub has stored none', undefined, null],
])('the pull of a spoke has %s', async (_, at, want) => {
  const client = new MemoryServer({ crds: transportCrds(), namespaces: ['s1'] }).client();
  const figures = { imagesDone: 3, imagesTotal: 15, bytesDone: 1, bytesTotal: 4, bytesPerSecond: 1 };
  const precaching = { progress: { s1: { ...figures, ...(at !== undefined && { at }) } } };
  const fleet = { partsOf: () => [{ upgrade: 'ns/u', row: {} }] };
  const sources = { upgrades: { get: () => ({ status: { precaching } }) } };
  const { images } = await askSpoke({ client, hubNamespace: 'flotilla', fleet, sources } as never, 's1');
  expect(images).toEqual({ upgrade: 'ns/u', done: 3, total: 15, bytesDone: 1, bytesTotal: 4, bytesPerSecond: 1, at: want });
});
