/** Settings of a program: from its flags and its environment, checked once. */

import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { Command, Option } from 'commander';
import { z } from 'zod';

/** Flag (as commander writes it), environment variable and meaning of one setting; `--help` and the README's table are these. */
export type OptionRow = readonly [flags: string, variable: string, meaning: string];

/** Where settings come from, and what they must be. */
export interface OptionSource<S extends z.ZodType> {
  readonly program: string;
  readonly description: string;
  readonly rows: readonly OptionRow[];
  /** Of all settings together, by the names that commander gives the flags. */
  readonly schema: S;
  /** Arguments after the program's own. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values of settings that no flag and no variable names. */
  readonly otherwise?: Readonly<Record<string, unknown>>;
}

/**
 * Reads settings: a flag wins over its variable, an empty variable says nothing. Prints help and ends with `--help`; an unknown flag ends
 * the program with code 2. Throws `FLOTILLA_CONFIG` naming every wrong setting, its value and what is expected.
 */
export function readOptions<S extends z.ZodType>(source: OptionSource<S>): Readonly<z.output<S>> {
  const { program, description, rows, schema, argv, env, otherwise = {} } = source;
  const command = new Command(program).description(description).exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  for (const [flags, variable, meaning] of rows) command.addOption(new Option(flags, `${meaning} [env ${variable}]`));
  command.parse(argv, { from: 'user' });
  const fromEnv = rows.map(([flags, variable]) => [attributeOf(flags), env[variable]]).filter(([, value]) => value);
  const given = { ...withoutUndefined(otherwise), ...Object.fromEntries(fromEnv), ...command.opts() };
  return checkOptions(schema, given, rows);
}

/** Checks settings that were read elsewhere; see `readOptions`. */
export function checkOptions<S extends z.ZodType>(schema: S, given: unknown, rows: readonly OptionRow[] = []): Readonly<z.output<S>> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const values: Readonly<Record<string, unknown>> = z.record(z.string(), z.unknown()).catch({}).parse(given);
  const problems = parsed.error.issues.map(({ path, message }) => {
    const key = String(path[0] ?? '');
    const row = rows.find(([flags]) => attributeOf(flags) === key);
    const name = row ? `${row[0].split(' ')[0]} (${row[1]})` : flagOf(key);
    const value = values[key];
    return `${name}${value === undefined ? '' : ` is ${shown(value)}`}: ${message}`;
  });
  throw new FlotillaError('FLOTILLA_CONFIG', problems.join('; '));
}

/** A path of the command line, from where the command was typed: npm runs it in the repository's own folder, and says the other one. */
export const pathFromCaller = (path: string, env: OptionSource<z.ZodType>['env']): string => resolve(env.INIT_CWD ?? '.', path);

/** Trust bundles of whole distributions have some hundred KiB. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Reads the text file that a flag names; undefined where it names none.
 * @throws FlotillaError `FLOTILLA_CONFIG` for a file that cannot be read, with the flag
 */
export async function readOptionFile(flag: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes, at most ${MAX_FILE_BYTES} are read`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_CONFIG', `${flag}: ${path} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

/** A value as a message shows it: short, and without the password of a URL. */
const shown = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll(/\/\/[^\s/@"]*@/g, '//***@')
    .slice(0, 200);
const attributeOf = (flags: string): string => new Option(flags).attributeName();
const flagOf = (key: string): string => `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
const withoutUndefined = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** Settings that many programs have. */
export const option = {
  logLevel: z.enum(['error', 'warn', 'info', 'debug', 'silent']),
  /** 0 takes a free one. */
  port: z.coerce.number().int().min(0).max(65_535),
  whole: (least: number, most: number) => z.coerce.number().int().min(least).max(most),
  /** A switch: `--flag` alone turns it on. */
  flag: (byDefault: boolean) =>
    z
      .union([z.boolean(), z.enum(['true', 'false', '1', '0'])], { error: 'must be true or false' })
      .default(byDefault)
      .transform((value) => value === true || value === 'true' || value === '1'),
};
