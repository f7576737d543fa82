import type { z } from 'zod';
import { type StructuralSchema, toStructural } from './structural.ts';

/** A value that its schema does not accept: where, and why. */
interface Excess {
  readonly path: readonly (string | number)[];
  /** `has 3 entries, at most 2 are accepted`. */
  readonly message: string;
  /** It is not too large but another value than the schema accepts. */
  readonly isValue?: true;
}

/**
 * Finds the first text, list or map that is larger than its schema accepts (`maxLength`, `maxItems`, `maxProperties`), number that is too
 * small (`minimum`) or text that is none of the choices (`enum`). Limits are given by
 * `.meta()`, so that they stand in the CRD while an object beyond them, stored before there were any or under another's CRD, can still be
 * read; whoever acts on it asks here first.
 * @throws FlotillaError `FLOTILLA_SCHEMA_NOT_STRUCTURAL` for a schema that no CRD can have
 */
export const limitsOf = (schema: z.ZodType): ((value: unknown) => Excess | undefined) => limitsOfSchema(toStructural(schema));

/** The same for a schema that is written out. */
export const limitsOfSchema =
  (schema: StructuralSchema) =>
  (value: unknown): Excess | undefined =>
    findExcess(schema, value, []);

type Path = Excess['path'];

function findExcess(schema: StructuralSchema, value: unknown, path: Path): Excess | undefined {
  if (typeof value === 'number') return belowLeast(schema.minimum, value, path);
  if (typeof value === 'string' && Array.isArray(schema.enum) && !schema.enum.includes(value)) return notOneOf(schema.enum, value, path);
  if (typeof value === 'string') return excessOf(schema.maxLength, lengthOf(value, schema.maxLength), 'characters', path);
  if (Array.isArray(value)) {
    const { items } = schema;
    return excessOf(schema.maxItems, value.length, 'entries', path) ?? firstExcess(value.entries(), () => items, path);
  }
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value);
  const { properties, additionalProperties } = schema;
  const childOf = (key: string) => (isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties);
  const keys = entries.length;
  return excessOf(schema.maxProperties, keys, 'keys', path) ?? firstExcess(entries, (key) => childOf(String(key)), path);
}

function firstExcess<K extends string | number>(
  entries: Iterable<readonly [K, unknown]>,
  schemaOf: (key: K) => unknown,
  path: Path,
): Excess | undefined {
  for (const [key, child] of entries) {
    const schema = schemaOf(key);
    const found = isObject(schema) ? findExcess(schema, child, [...path, key]) : undefined;
    if (found) return found;
  }
  return undefined;
}

/** The API server counts characters, not code units; a text that has no more of those has no more characters either. */
const lengthOf = (text: string, limit: unknown): number =>
  typeof limit === 'number' && text.length > limit ? Array.from(text).length : text.length;

const excessOf = (limit: unknown, size: number, what: string, path: Path): Excess | undefined =>
  typeof limit === 'number' && size > limit ? { path, message: `has ${size} ${what}, at most ${limit} are accepted` } : undefined;

const belowLeast = (least: unknown, value: number, path: Path): Excess | undefined =>
  typeof least === 'number' && value < least ? { path, message: `is ${value}, at least ${least} is accepted`, isValue: true } : undefined;

const notOneOf = (choices: readonly unknown[], value: string, path: Path): Excess => ({
  path,
  message: `is ${JSON.stringify(value.slice(0, 100))}, not one of ${choices.filter(Boolean).join(', ')}`,
  isValue: true,
});

const isObject = (value: unknown): value is StructuralSchema => typeof value === 'object' && value !== null && !Array.isArray(value);
