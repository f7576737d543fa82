import { isJsonObject } from '@flotilla/api';
import { fieldSchema, type Json, type Schema } from './schema.ts';

/** Fills in the defaults of a schema. A null that the schema does not allow counts as absent. */
export function defaulted(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) return schema.items ? value.map((item) => defaulted(schema.items ?? {}, item)) : value;
  if (!isJsonObject(value)) return value;
  const filled: Json = {};
  for (const [key, child] of Object.entries(value)) {
    const field = fieldSchema(schema, key);
    if (child === null && field?.type !== undefined && !field.nullable) continue;
    filled[key] = field ? defaulted(field, child) : child;
  }
  for (const [key, field] of Object.entries(schema.properties ?? {}))
    if (field.default !== undefined && filled[key] === undefined) filled[key] = defaulted(field, structuredClone(field.default));
  return filled;
}
