import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createClient, createLogger } from '@flotilla/runtime';
import { z } from 'zod';
import { registerSpokes } from './registration.ts';
import { startSimulatedSpokes } from './simulated-spokes.ts';

const USAGE = `simulated spokes: --kubeconfig FILE --spokes N [--prefix spoke-] [--first 1] [--seed 1] [--job-seconds 20] [--job-jitter 0.2]
  [--job-startup-ms 1000] [--latency-ms 5] [--namespace-deletion-ms 2000] [--work-seconds 1]
  [--work-jitter 0] [--work-status JSON, by kind] [--faults JSON] [--register] [--report FILE] [--log-level warn]
Prints {"ready":true,...} when watching; SIGUSR2 and the end write the counters to --report.`;

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    kubeconfig: text,
    spokes: text,
    prefix: text,
    first: text,
    seed: text,
    'job-seconds': text,
    'job-jitter': text,
    'job-startup-ms': text,
    'work-seconds': text,
    'work-jitter': text,
    'work-status': text,
    'latency-ms': text,
    'namespace-deletion-ms': text,
    faults: text,
    report: text,
    'log-level': text,
    register: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

const amount = (byDefault: number) => z.coerce.number().nonnegative().default(byDefault);
const JsonByName = z.record(z.string(), z.looseObject({}));
const Arguments = z.object({
  kubeconfig: z.string(),
  spokes: z.coerce.number().int().positive(),
  prefix: z.string().default('spoke-'),
  first: amount(1),
  seed: amount(1),
  'job-seconds': amount(20),
  'job-jitter': amount(0.2),
  'job-startup-ms': amount(1000),
  'work-seconds': amount(1),
  'work-jitter': amount(0),
  'work-status': z
    .string()
    .default('{}')
    .transform((json) => JsonByName.parse(JSON.parse(json))),
  'latency-ms': amount(5),
  'namespace-deletion-ms': amount(2000),
  faults: z
    .string()
    .default('{}')
    .transform((json) => JsonByName.parse(JSON.parse(json))),
  report: z.string().optional(),
  'log-level': z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('warn'),
  register: z.boolean().default(false),
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
  const logger = createLogger({ name: 'simulated-spokes', level: args['log-level'], pretty: true });
  const client = createClient({ kubeconfigPath: args.kubeconfig, userAgent: 'simulated-spokes', logger });
  const names = Array.from({ length: args.spokes }, (_, index) => `${args.prefix}${args.first + index}`);
  if (args.register) await registerSpokes(client, names);
  const spokes = await startSimulatedSpokes({
    client,
    names,
    seed: args.seed,
    job: { seconds: args['job-seconds'], jitter: args['job-jitter'], startupMs: args['job-startup-ms'] },
    work: { seconds: args['work-seconds'], jitter: args['work-jitter'], status: args['work-status'] },
    executeLatencyMs: args['latency-ms'],
    namespaceDeletionMs: args['namespace-deletion-ms'],
    faults: args.faults,
    logger,
  });
  const writeReport = (): void => {
    const { rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    if (args.report) writeFileSync(args.report, JSON.stringify({ rss, cpuSeconds: (user + system) / 1e6, spokes: spokes.report() }));
  };
  process.on('SIGUSR2', writeReport);
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
    // Started by a test over a pipe: end with it.
    process.once('disconnect', () => resolve());
  });
  process.stdout.write(`${JSON.stringify({ ready: true, spokes: names.length, pid: process.pid })}\n`);
  await ended;
  writeReport();
  await spokes.stop();
  await client.close();
}

await main();
