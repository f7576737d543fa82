import { isJsonObject } from '@flotilla/api';
import { z } from 'zod';

const MOST = 5;
const LONGEST = 100;

/** Keys of a document that a schema does not know, each with those that it knows there; undefined: it knows all. They count for nothing, as in the reference. */
export function describeUnknownKeys(schema: z.ZodType, given: unknown): string | undefined {
  const found = unknownKeys(schema, given, '');
  if (found.length === 0) return undefined;
  const more = found.length > MOST ? `; and ${found.length - MOST} more` : '';
  return `keys that are not known count for nothing: ${found.slice(0, MOST).join('; ')}${more}`;
}

function unknownKeys(schema: z.ZodType, given: unknown, path: string): string[] {
  const section = withoutDefault(schema);
  if (!(section instanceof z.ZodObject) || !isJsonObject(given)) return [];
  const known: Readonly<Record<string, z.ZodType>> = section.shape;
  return Object.entries(given).flatMap(([key, value]) => {
    const own = Object.hasOwn(known, key) ? known[key] : undefined;
    if (own) return unknownKeys(own, value, `${path}${key}.`);
    return [`${`${path}${key}`.slice(0, LONGEST)} (known here: ${Object.keys(known).join(', ')})`];
  });
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  let inner: unknown = schema;
  while (inner instanceof z.ZodPrefault || inner instanceof z.ZodDefault || inner instanceof z.ZodOptional) inner = inner.unwrap();
  return inner instanceof z.ZodType ? inner : schema;
}
