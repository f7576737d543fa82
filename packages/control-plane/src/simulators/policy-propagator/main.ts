import { amount, runSimulator, SimulatorArguments } from '../simulator-program.ts';
import { startPolicyPropagator } from './policy-propagator.ts';

const USAGE = `policy propagator: --kubeconfig FILE [--seconds 20] [--jitter 0.2] [--seed 1] [--roll-up-ms 200] [--log-level warn]
Prints {"ready":true,...} when watching.`;

const text = { type: 'string' } as const;

await runSimulator({
  name: 'policy-propagator',
  usage: USAGE,
  options: { seconds: text, jitter: text, seed: text, 'roll-up-ms': text },
  arguments: SimulatorArguments.extend({
    seconds: amount(20),
    jitter: amount(0.2),
    seed: amount(1),
    'roll-up-ms': amount(200),
  }),
  start: (args, hub) =>
    startPolicyPropagator({
      ...hub,
      seed: args.seed,
      compliance: { seconds: args.seconds, jitter: args.jitter },
      rollUpMs: args['roll-up-ms'],
    }),
});
