import type { UpgradeHistory } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { MemoryWorld } from '../../testing/memory-world.ts';
import { restoreGauges } from './upgrade-metrics.ts';

const is = (status: 'True' | 'False', ...types: string[]) => types.map((type) => ({ type, status }));
const at = '2026-02-01T10:00:00Z';

test.each([
  { name: 'nothing of an upgrade that is new', entry: { phase: 'New' }, want: {} },
  { name: 'that it is refused', entry: { phase: 'Pending', conditions: is('False', 'Validated') }, want: { validationFailed: true } },
  {
    name: 'how far it is',
    entry: {
      phase: 'Upgrading',
      conditions: is('True', 'Validated', 'ComputeCapacityReserved', 'UpgradeCommenced', 'ControlPlaneUpgraded', 'WorkerNodesUpgraded'),
      notifications: [
        { state: 'StateStarted', time: at },
        { state: 'StateDelayed', message: 'refused' },
        { state: 'StateSomething', time: at },
      ],
    },
    want: {
      'notificationSent StateStarted': 'v',
      'notificationFailed StateStarted': false,
      'notificationFailed StateDelayed': true,
      validationFailed: false,
      scalingFailed: false,
      windowBreached: false,
      'controlPlaneTimeout v': false,
      'workerTimeout v': false,
    },
  },
  {
    name: 'that it goes on without extra workers',
    entry: { phase: 'Upgrading', conditions: is('True', 'ComputeCapacityReserved'), notifications: [{ state: 'StateSkipped' }] },
    want: { scalingFailed: true },
  },
  {
    name: 'that it was given up, and who was not told of it',
    entry: {
      phase: 'Failed',
      conditions: is('False', 'Validated'),
      notifications: [
        { state: 'StateStarted', time: at },
        { state: 'StateFailed', message: 'refused' },
      ],
    },
    want: { 'notificationFailed StateFailed': true, windowBreached: true },
  },
] as { name: string; entry: Partial<UpgradeHistory>; want: object }[])('another process knows $name', ({ entry, want }) => {
  const world = new MemoryWorld();
  restoreGauges({ spec: { capacityReservation: true }, entry: { version: 'v', phase: 'New', ...entry } }, world.ports.metrics);
  expect(Object.fromEntries(world.metrics)).toEqual(want);
});
