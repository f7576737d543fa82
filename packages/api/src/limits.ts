import type { z } from 'zod';
import { isJsonObject } from './json.ts';
import { type StructuralSchema, toStructural } from './structural.ts';

/** A value that its schema does not accept. */
interface Excess {
  readonly path: readonly (string | number)[];
  /** `has 3 entries, at most 2 are accepted`. */
  readonly message: string;
  /** The value is not too large, but differs from the accepted ones. */
  readonly isValue?: true;
}

/**
 * Finds the first value beyond its schema. Texts, lists and maps may be too large (`maxLength`, `maxItems`, `maxProperties`). Numbers may be too
 * small (`minimum`), and texts may be no choice (`enum`). Limits come from `.meta()`, so the CRD has them, but an older object beyond them can still
 * be read. Programs check an object here before they act on it.
 * @throws FlotillaError `FLOTILLA_SCHEMA_NOT_STRUCTURAL` for a schema that no CRD can have
 */
export const limitsOf = (schema: z.ZodType): ((value: unknown) => Excess | undefined) => limitsOfSchema(toStructural(schema));

/** The same for a written-out schema. */
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
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value);
  const { properties, additionalProperties } = schema;
  const childOf = (key: string) => (isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties);
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
    const found = isJsonObject(schema) ? findExcess(schema, child, [...path, key]) : undefined;
    if (found) return found;
  }
  return undefined;
}

/** Counts characters as the API server does; a text with few enough code units needs no count. */
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
