import { parseArgs } from 'node:util';
import { createClient, createLogger } from '@flotilla/runtime';
import { z } from 'zod';
import { startPolicyPropagator } from './policy-propagator.ts';

const USAGE = `policy propagator: --kubeconfig FILE [--seconds 20] [--jitter 0.2] [--seed 1] [--roll-up-ms 200] [--no-children]
  [--no-child-status] [--unbound NAMESPACE]... [--scripts JSON] [--log-level warn]
--scripts is {"namespace/policy": {"cluster": {"never": true}}}; see ComplianceScript. Prints {"ready":true,...} when watching.`;

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    kubeconfig: text,
    seconds: text,
    jitter: text,
    seed: text,
    'roll-up-ms': text,
    'no-children': { type: 'boolean' },
    'no-child-status': { type: 'boolean' },
    unbound: { type: 'string', multiple: true },
    scripts: text,
    'log-level': text,
    help: { type: 'boolean' },
  },
});

const amount = (byDefault: number) => z.coerce.number().nonnegative().default(byDefault);
const Script = z.strictObject({
  already: z.boolean().optional(),
  never: z.boolean().optional(),
  silent: z.boolean().optional(),
  seconds: z.number().nonnegative().optional(),
  relapse: z.strictObject({ afterSeconds: z.number().nonnegative(), recoverSeconds: z.number().nonnegative().optional() }).optional(),
});
const Arguments = z.object({
  kubeconfig: z.string(),
  seconds: amount(20),
  jitter: amount(0.2),
  seed: amount(1),
  'roll-up-ms': amount(200),
  'no-children': z.boolean().default(false),
  'no-child-status': z.boolean().default(false),
  unbound: z.array(z.string()).default([]),
  scripts: z
    .string()
    .default('{}')
    .transform((json) => z.record(z.string(), z.record(z.string(), Script)).parse(JSON.parse(json))),
  'log-level': z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('warn'),
});

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(`${USAGE}\n`);
  const parsed = Arguments.safeParse(values);
  if (!parsed.success) {
    process.stderr.write(`${z.prettifyError(parsed.error)}\n${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const args = parsed.data;
  const logger = createLogger({ name: 'policy-propagator', level: args['log-level'], pretty: true });
  const client = createClient({ kubeconfigPath: args.kubeconfig, userAgent: 'policy-propagator', logger });
  const children = !args['no-children'];
  const propagator = await startPolicyPropagator({
    client,
    seed: args.seed,
    compliance: { seconds: args.seconds, jitter: args.jitter },
    children,
    childStatus: children && !args['no-child-status'],
    rollUpMs: args['roll-up-ms'],
    unboundNamespaces: args.unbound,
    scripts: args.scripts,
    logger,
  });
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
    // Started by a test over a pipe: end with it.
    process.once('disconnect', () => resolve());
  });
  process.stdout.write(`${JSON.stringify({ ready: true, pid: process.pid })}\n`);
  await ended;
  await propagator.stop();
  await client.close();
}

await main();
