import { z } from 'zod';
import { amount, json, runSimulator, SimulatorArguments } from '../simulator-program.ts';
import { startPolicyPropagator } from './policy-propagator.ts';

const USAGE = `policy propagator: --kubeconfig FILE [--seconds 20] [--jitter 0.2] [--seed 1] [--roll-up-ms 200] [--no-children]
  [--no-child-status] [--unbound NAMESPACE]... [--scripts JSON] [--log-level warn]
--scripts is {"namespace/policy": {"cluster": {"never": true}}}; see ComplianceScript. Prints {"ready":true,...} when watching.`;

const Script = z.strictObject({
  already: z.boolean().optional(),
  never: z.boolean().optional(),
  silent: z.boolean().optional(),
  seconds: z.number().nonnegative().optional(),
  relapse: z.strictObject({ afterSeconds: z.number().nonnegative(), recoverSeconds: z.number().nonnegative().optional() }).optional(),
});

const text = { type: 'string' } as const;

await runSimulator({
  name: 'policy-propagator',
  usage: USAGE,
  options: {
    seconds: text,
    jitter: text,
    seed: text,
    'roll-up-ms': text,
    'no-children': { type: 'boolean' },
    'no-child-status': { type: 'boolean' },
    unbound: { type: 'string', multiple: true },
    scripts: text,
  },
  arguments: SimulatorArguments.extend({
    seconds: amount(20),
    jitter: amount(0.2),
    seed: amount(1),
    'roll-up-ms': amount(200),
    'no-children': z.boolean().default(false),
    'no-child-status': z.boolean().default(false),
    unbound: z.array(z.string()).default([]),
    scripts: json(z.record(z.string(), z.record(z.string(), Script))),
  }),
  start: (args, hub) =>
    startPolicyPropagator({
      ...hub,
      seed: args.seed,
      compliance: { seconds: args.seconds, jitter: args.jitter },
      children: !args['no-children'],
      childStatus: !args['no-children'] && !args['no-child-status'],
      rollUpMs: args['roll-up-ms'],
      unboundNamespaces: args.unbound,
      scripts: args.scripts,
    }),
});
