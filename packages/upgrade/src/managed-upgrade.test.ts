import type { UpgradePhase } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { advanceUpgrade, type ManagedUpgradeLook } from './managed-upgrade.ts';

const nothing: ManagedUpgradeLook = { isValid: false, isDue: false, provider: 'unasked', isGivenUp: false, isDone: false };
const ready: Partial<ManagedUpgradeLook> = { isValid: true, isDue: true, provider: 'agrees' };

test.each<{ name: string; from: UpgradePhase; look: Partial<ManagedUpgradeLook>; to: UpgradePhase }>([
  { name: 'a new one waits for its time', from: 'New', look: {}, to: 'Pending' },
  { name: 'a new one does not begin in the same look', from: 'New', look: ready, to: 'Pending' },
  { name: 'begins when it is valid, due and wanted', from: 'Pending', look: ready, to: 'Upgrading' },
  { name: 'does not begin when it is not valid', from: 'Pending', look: { ...ready, isValid: false }, to: 'Pending' },
  { name: 'does not begin before its time', from: 'Pending', look: { ...ready, isDue: false }, to: 'Pending' },
  { name: 'does not begin while its provider is not heard', from: 'Pending', look: { ...ready, provider: 'unasked' }, to: 'Pending' },
  { name: 'begins anew when its provider wants another', from: 'Pending', look: { ...ready, provider: 'replaced' }, to: 'New' },
  { name: 'goes on while steps are left', from: 'Upgrading', look: ready, to: 'Upgrading' },
  { name: 'is not stopped by what its provider says', from: 'Upgrading', look: { provider: 'replaced' }, to: 'Upgrading' },
  { name: 'ends when every step is done', from: 'Upgrading', look: { isDone: true }, to: 'Upgraded' },
  { name: 'ends when it is given up', from: 'Upgrading', look: { isGivenUp: true }, to: 'Failed' },
  { name: 'is given up rather than done', from: 'Upgrading', look: { isGivenUp: true, isDone: true }, to: 'Failed' },
  { name: 'stays done', from: 'Upgraded', look: { ...ready, isGivenUp: true }, to: 'Upgraded' },
  { name: 'stays failed', from: 'Failed', look: { ...ready, isDone: true }, to: 'Failed' },
])('$name', ({ from, look, to }) => expect(advanceUpgrade(from, { ...nothing, ...look })).toBe(to));
