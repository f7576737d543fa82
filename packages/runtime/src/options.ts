/** Settings of a program: from its flags and its environment, checked once; its proxies are from the variables that programs share. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { versionLine } from './version.ts';

/**
 * One setting: what its flag takes (`<file>`, `[on]` for a switch), what it must be, with its default, what it means (in Markdown), and its
 * variable where that is not the flag in capitals. `--help` and docs/reference/options.md are made of these.
 */
type OptionRow = readonly [takes: string, schema: z.ZodType, meaning: string, variable?: string];

/** Settings by the names that the program gives them: `redisUrl` is `--redis-url` and `REDIS_URL`. Every program has `--version` and `--help` already. */
export type OptionRows = Readonly<Record<string, OptionRow>> & { readonly version?: never; readonly help?: never };

/** The settings together; what no flag and no variable names is added with `extend`. */
export const schemaOf = <R extends OptionRows>(rows: R) =>
  z.object(Object.fromEntries(Object.entries(rows).map(([key, [, schema]]) => [key, schema])) as { -readonly [K in keyof R]: R[K][1] });

/** Settings as help and tables show them; `byDefault` is empty where there is no default to show. */
export const describeOptions = (rows: OptionRows) =>
  Object.entries(rows).map(([key, [takes, schema, meaning, variable]]) => {
    const flag = flagOf(key);
    const named = variable ?? flag.slice(2).replaceAll('-', '_').toUpperCase();
    return { key, flag, takes, variable: named, byDefault: defaultOf(schema), meaning };
  });

function defaultOf(schema: unknown): string {
  if (schema instanceof z.ZodPipe) return defaultOf(schema.def.in);
  return schema instanceof z.ZodDefault ? z.coerce.string().parse(schema.def.defaultValue) : '';
}

/** Where settings come from, and what they must be. */
interface OptionSource<S extends z.ZodType> {
  readonly program: string;
  readonly description: string;
  readonly rows: OptionRows;
  /** Schema of all settings together: `schemaOf(rows)`, and additions. */
  readonly schema: S;
  /** Arguments after the program's own. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values of settings that no flag and no variable names. */
  readonly otherwise?: Readonly<Record<string, unknown>>;
}

/**
 * Reads settings: a flag wins over its variable, an empty variable says nothing. Prints help or version and ends with `--help` and
 * `--version`; an unknown flag ends the program with code 2. Throws `FLOTILLA_CONFIG` naming every wrong setting, its value and what is expected.
 */
export function readOptions<S extends z.ZodType>(source: OptionSource<S>): Readonly<z.output<S>> {
  const { program, description, rows, schema, argv, env, otherwise = {} } = source;
  const command = new Command(program).description(description).exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  withVersion(command, program);
  const options = describeOptions(rows).map(({ key, flag, takes, variable, byDefault, meaning }) => {
    const help = `${meaning.replaceAll('`', '')}${byDefault === '' ? '' : ` (default ${byDefault})`} [env ${variable}]`;
    const option = new Option(`${flag} ${takes}`, help);
    command.addOption(option);
    return { key, variable, name: option.attributeName() };
  });
  command.parse(argv, { from: 'user' });
  // Commander gives `--no-proxy` a value of its own where nobody gave one.
  const given = options.map(({ key, variable, name }) => [
    key,
    command.getOptionValueSource(name) === 'cli' ? command.getOptionValue(name) : env[variable] || undefined,
  ]);
  return checkOptions(schema, { ...withoutUndefined(otherwise), ...withoutUndefined(Object.fromEntries(given)) }, rows);
}

/** Gives a command `--version`, which prints program, version and commit, and ends. */
function withVersion(command: Command, program: string): Command {
  // Commander's own would ask git at every start.
  return command.option('--version', 'print version and commit').on('option:version', () => {
    process.stdout.write(`${versionLine(program)}\n`);
    process.exit();
  });
}

/** Checks settings that were read elsewhere; see `readOptions`. */
export function checkOptions<S extends z.ZodType>(schema: S, given: unknown, rows: OptionRows = {}): Readonly<z.output<S>> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const values: Readonly<Record<string, unknown>> = z.record(z.string(), z.unknown()).catch({}).parse(given);
  const texts = describeOptions(rows);
  const problems = parsed.error.issues.map(({ path, message }) => {
    const key = String(path[0] ?? '');
    const text = texts.find((one) => one.key === key);
    const name = text ? `${text.flag} (${text.variable})` : flagOf(key);
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

type Environment = Readonly<Record<string, string | undefined>>;

/** URL of a proxy. */
export const proxyUrl = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'is no URL of a proxy; write http://[user:password@]host:port')
  .optional();

/** Proxies as `proxiesOf` finds them. */
export const proxySettings = z.object({ http: proxyUrl, https: proxyUrl, no: z.string().optional() });

/** Variables of proxies as most programs take them: also in lower case or without a scheme. Capitals take precedence, an empty one says nothing. */
export function proxyVariables(env: Environment) {
  const variable = (name: string) => env[name] || env[name.toLowerCase()] || undefined;
  const url = (name: string) => {
    const value = variable(name);
    return value && !value.includes('://') ? `http://${value}` : value;
  };
  return { HTTP_PROXY: url('HTTP_PROXY'), HTTPS_PROXY: url('HTTPS_PROXY'), NO_PROXY: variable('NO_PROXY') };
}

/** Finds the proxies of an environment. */
export function proxiesOf(env: Environment) {
  const { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: no } = proxyVariables(env);
  return { http, https, no };
}
