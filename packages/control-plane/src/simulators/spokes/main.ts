import { writeFileSync } from 'node:fs';
import { DEFAULT_WORK_CADENCE, FeedbackMode, FIRST_REPORT_MS } from '@flotilla/agent';
import { NODE_PULLERS, PULLER_ACCOUNT } from '@flotilla/api/ocm';
import { z } from 'zod';
import { amount, json, runSimulator, SimulatorArguments } from '../simulator-program.ts';
import { registerSpokes } from './registration.ts';
import { startSimulatedSpokes } from './simulated-spokes.ts';

const USAGE = `simulated spokes: --kubeconfig FILE --spokes N [--prefix spoke-] [--first 1] [--seed 1] [--job-seconds 20] [--job-jitter 0.2]
  [--job-startup-ms 1000] [--latency-ms 5] [--namespace-deletion-ms 2000] [--work-seconds 1]
  [--puller-account: as our agents, which make it and say so] [--nodes 1: that each counts] [--work-jitter 0] [--work-status JSON, by kind] [--work-feedback settled|immediate] [--work-scrape watch|poll]
  [--faults JSON] [--register] [--report FILE] [--log-level warn]
Prints {"ready":true,...} when watching; SIGUSR2 and the end write the counters to --report.`;

const text = { type: 'string' } as const;
const byName = json(z.record(z.string(), z.looseObject({})));

await runSimulator({
  name: 'simulated-spokes',
  usage: USAGE,
  options: {
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
    'work-feedback': text,
    'work-scrape': text,
    'latency-ms': text,
    'namespace-deletion-ms': text,
    faults: text,
    report: text,
    register: { type: 'boolean' },
    'puller-account': { type: 'boolean' },
    nodes: text,
  },
  arguments: SimulatorArguments.extend({
    spokes: z.coerce.number().int().positive(),
    prefix: z.string().default('spoke-'),
    first: amount(1),
    seed: amount(1),
    'job-seconds': amount(20),
    'job-jitter': amount(0.2),
    'job-startup-ms': amount(1000),
    'work-seconds': amount(1),
    'work-jitter': amount(0),
    'work-status': byName,
    'work-feedback': z.enum(FeedbackMode).default('settled'),
    'work-scrape': z.enum(['watch', 'poll']).default('watch'),
    'latency-ms': amount(5),
    'namespace-deletion-ms': amount(2000),
    faults: byName,
    report: z.string().optional(),
    register: z.boolean().default(false),
    'puller-account': z.boolean().default(false),
    nodes: amount(1),
  }),
  async start(args, hub) {
    const names = Array.from({ length: args.spokes }, (_, index) => `${args.prefix}${args.first + index}`);
    const makesPullerAccount = args['puller-account'];
    const transports = makesPullerAccount ? `actions,works,${PULLER_ACCOUNT},${NODE_PULLERS}` : undefined;
    if (args.register) await registerSpokes(hub.client, names, { transports, nodes: args.nodes });
    const spokes = await startSimulatedSpokes({
      ...hub,
      names,
      seed: args.seed,
      job: { seconds: args['job-seconds'], jitter: args['job-jitter'], startupMs: args['job-startup-ms'], nodes: args.nodes },
      work: { seconds: args['work-seconds'], jitter: args['work-jitter'], status: args['work-status'] },
      workCadence: { ...DEFAULT_WORK_CADENCE, feedback: args['work-feedback'], firstReportMs: FIRST_REPORT_MS },
      workWatches: args['work-scrape'] === 'watch',
      makesPullerAccount,
      executeLatencyMs: args['latency-ms'],
      namespaceDeletionMs: args['namespace-deletion-ms'],
      faults: args.faults,
    });
    const writeReport = (): void => {
      const { rss } = process.memoryUsage();
      const { user, system } = process.cpuUsage();
      if (args.report) writeFileSync(args.report, JSON.stringify({ rss, cpuSeconds: (user + system) / 1e6, spokes: spokes.report() }));
    };
    process.on('SIGUSR2', writeReport);
    return {
      async stop() {
        writeReport();
        await spokes.stop();
      },
    };
  },
});
