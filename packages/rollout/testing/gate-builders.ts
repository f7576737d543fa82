/** Gates for tests. */
import type { GateInput } from '../src/gates/gates.ts';

/** All gates open, for two clusters without jobs. */
export const openGates: GateInput = {
  upgrade: { metadata: { name: 'u', namespace: 'ns' } },
  enabled: true,
  canaries: [],
  planned: ['a', 'b'],
  precaching: undefined,
  window: { kind: 'open' },
  blocking: { missing: [], incomplete: [], stalled: [], eligible: undefined },
  wantsBackup: false,
  backup: undefined,
};
