import { parseArgs } from 'node:util';
import { errorMessage } from '@flotilla/api';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { z } from 'zod';

/** A benchmark as a command. */
interface Bench<S extends z.ZodObject> {
  readonly usage: string;
  /** Says how its figures are taken; printed with the usage, and before the figures. Default: the figures say it. */
  readonly how?: string;
  /** Options by name; a boolean is a switch. */
  readonly options: S;
}

/** Prints a line. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** A whole number from 1. */
export const whole = (byDefault: number) => z.coerce.number().int().positive().default(byDefault);

/** Reads the options and runs a benchmark. Ends with 2 for an option that cannot be used, and with 1 for what goes wrong; whatever was started ends too. */
export async function runBench<S extends z.ZodObject>(
  { usage, how, options }: Bench<S>,
  run: (args: z.output<S>) => Promise<void>,
): Promise<void> {
  try {
    const types = Object.entries(options.shape).map(([name, schema]) => [name, { type: isSwitch(schema) ? 'boolean' : 'string' } as const]);
    const { help, ...values }: Record<string, unknown> = parseArgs({
      options: { ...Object.fromEntries(types), help: { type: 'boolean' } },
    }).values;
    const page = how === undefined ? usage : `${usage}\n${how}`;
    if (help === true) return print(page);
    const parsed = options.safeParse(values);
    if (!parsed.success) {
      process.stderr.write(`${z.prettifyError(parsed.error)}\n${usage}\n`);
      process.exitCode = 2;
      return;
    }
    cleanupOnExit();
    if (how !== undefined) print(how);
    await run(parsed.data);
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    process.exitCode = 1;
  }
}

const isSwitch = (schema: unknown): boolean => schema instanceof z.ZodDefault && schema.def.innerType instanceof z.ZodBoolean;
