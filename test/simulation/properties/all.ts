import type { World } from '../core/world.ts';
import { effects } from './effects.ts';
import { ends } from './ends.ts';
import { Ledger } from './ledger.ts';
import { limits } from './limits.ts';
import { operators } from './operators.ts';
import type { Property } from './property.ts';
import { readings } from './readings.ts';
import { strategy } from './strategy.ts';
import { verdicts } from './verdicts.ts';
import { waves } from './waves.ts';

/** All properties of a run, with what they remember of it. */
export function properties(world: World): readonly Property[] {
  const ledger = new Ledger(world);
  const all = [
    ...effects(ledger),
    ...verdicts(ledger),
    ...strategy(ledger),
    ...waves(ledger),
    ...limits(ledger),
    ...readings(ledger),
    ...ends(ledger),
    ...operators(ledger),
  ];
  // The ledger has seen a change before any property is asked about it.
  return [
    {
      name: 'ledger',
      rule: '',
      look(changes) {
        ledger.take(changes);
        return undefined;
      },
    },
    ...all,
  ];
}
