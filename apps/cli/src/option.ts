import { z } from 'zod';

/** An option as help and completion show it, beside its name and its schema. */
interface Help {
  /** `<file>`, `<host...>` for several; empty for a switch. */
  readonly takes: string;
  readonly meaning: string;
  /** One letter, by which it may be called too. */
  readonly short: string | undefined;
}

const helps = z.registry<Help>();

/**
 * An option of a command, by the key of an object: `hubNamespace` is `--hub-namespace`. Help, completion, documents and errors are made of it; a
 * default is shown by itself where the meaning says none.
 */
export function option<S extends z.ZodType>(takes: string, schema: S, meaning: string, short?: string): S {
  // A schema may be that of several options.
  const own = schema.clone();
  helps.add(own, { takes, meaning, short });
  return own;
}

/** A text that may be left out and not be empty. @param fix the next step for one that is */
export const text = (fix: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .min(1, { error: `is empty: ${fix}` })
    .optional();

/** A switch. */
export const flag = (meaning: string, short?: string): z.ZodDefault<z.ZodBoolean> => option('', z.boolean().default(false), meaning, short);

/** Flags and meanings of options, in their order. A switch that is on by default is turned off by its flag. */
export const helpOf = (options: z.ZodObject): [flags: string, meaning: string][] =>
  Object.entries(options.shape).map(([key, schema]) => {
    const { takes = '', meaning = '', short } = helps.get(schema) ?? {};
    const byDefault = defaultOf(schema);
    const name = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const flags = `${short === undefined ? '' : `-${short}, `}--${byDefault === true ? 'no-' : ''}${name}${takes === '' ? '' : ` ${takes}`}`;
    const isShown = (typeof byDefault === 'string' || typeof byDefault === 'number') && !meaning.includes('(default ');
    return [flags, isShown ? `${meaning} (default ${byDefault})` : meaning];
  });

function defaultOf(schema: unknown): unknown {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined;
}
