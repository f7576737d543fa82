import { once } from 'node:events';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { type Client, checkOptions, createClient, type Logger, runProgram } from '@flotilla/runtime';
import { z } from 'zod';

/** Arguments of every simulator. */
export const SimulatorArguments = z.object({
  kubeconfig: z.string(),
  'log-level': z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('warn'),
});

/** An argument that is a number, zero or more. */
export const amount = (byDefault: number) => z.coerce.number().nonnegative().default(byDefault);

/** An argument that is JSON of this shape; default `{}`. */
export const json = <T extends z.ZodType>(shape: T) =>
  z
    .string()
    .default('{}')
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch (error) {
        context.addIssue(`is no JSON: ${String(error)}`);
        return z.NEVER;
      }
    })
    .pipe(shape);

/** A simulator that runs as a process of its own. */
interface SimulatorProgram<A extends z.output<typeof SimulatorArguments>> {
  readonly name: string;
  readonly usage: string;
  readonly arguments: z.ZodType<A>;
  /** Names of arguments as `parseArgs` reads them, beside those that every simulator has. */
  readonly options: ParseArgsOptionsConfig;
  /** Resolves when it watches. */
  readonly start: (args: A, hub: { readonly client: Client; readonly logger: Logger }) => Promise<{ stop(): Promise<void> }>;
}

/** Starts it, says `{"ready":true,...}` on a line when it watches, and stops it at SIGTERM, SIGINT or the end of who started it. */
export async function runSimulator<A extends z.output<typeof SimulatorArguments>>(simulator: SimulatorProgram<A>): Promise<void> {
  const { name, usage, options } = simulator;
  const common = { kubeconfig: { type: 'string' }, 'log-level': { type: 'string' }, help: { type: 'boolean' } } as const;
  const { values } = parseArgs({ options: { ...options, ...common } });
  if (values.help) return void process.stdout.write(`${usage}\n`);
  await runProgram({
    name,
    config() {
      const args = checkOptions(simulator.arguments, values);
      return { args, logLevel: args['log-level'] };
    },
    prettyLog: true,
    async main({ config: { args }, logger, signal, defer, stop }) {
      const client = createClient({ kubeconfigPath: args.kubeconfig, userAgent: name, logger });
      defer(() => client.close());
      // Started by a test over a pipe: end with it.
      process.once('disconnect', stop);
      const running = await simulator.start(args, { client, logger });
      defer(() => running.stop());
      process.stdout.write(`${JSON.stringify({ ready: true, pid: process.pid })}\n`);
      if (!signal.aborted) await once(signal, 'abort');
    },
  });
}
