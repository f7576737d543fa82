import { expect, test } from 'vitest';
import { NOW } from '../../testing/cluster-version-builders.ts';
import { conditionsAfter } from './conditions.ts';

const old = { reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };

test('a time moves with the status alone, what nobody says stays, and obsolete types go', () => {
  const before = [
    { type: 'Available', status: 'True' as const, ...old },
    { type: 'UpgradeableAdminAckRequired', status: 'False' as const, ...old },
    { type: 'Failing', status: 'False' as const, ...old },
    { type: 'SomebodyElse', status: 'True' as const, ...old },
    { type: 'Invalid', status: 'True' as const, ...old },
  ];
  const said = [
    { type: 'Available', status: 'True' as const, message: 'Done' },
    { type: 'Failing', status: 'True' as const, reason: 'X', message: 'x' },
    { type: 'Progressing', status: 'False' as const },
  ];
  expect(conditionsAfter(before, said, { removed: ['Invalid'], nowMs: NOW })).toEqual([
    { type: 'Available', status: 'True', reason: '', message: 'Done', lastTransitionTime: old.lastTransitionTime },
    { type: 'Failing', status: 'True', reason: 'X', message: 'x', lastTransitionTime: '2026-01-02T00:00:00Z' },
    { type: 'SomebodyElse', status: 'True', ...old },
    { type: 'Progressing', status: 'False', reason: '', message: '', lastTransitionTime: '2026-01-02T00:00:00Z' },
  ]);
});
