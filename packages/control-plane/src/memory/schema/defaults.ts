import { isJsonObject, perObject } from '@flotilla/api';
import { fieldSchema, type Json, type Schema, takesAnything } from './schema.ts';

const fieldsWithDefault = perObject(({ properties = {} }: Schema) =>
  Object.entries(properties).filter(([, field]) => field.default !== undefined),
);
const isAbsent = (field: Schema | undefined, value: unknown): boolean => value === null && field?.type !== undefined && !field.nullable;

/** True for a value that lacks no default. */
function isWhole(schema: Schema, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || takesAnything(schema)) return true;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined || value.every((item) => isWhole(items, item));
  }
  const object = value as Json;
  if (fieldsWithDefault(schema).some(([key]) => object[key] === undefined)) return false;
  for (const [key, child] of Object.entries(object)) {
    const field = fieldSchema(schema, key);
    if (isAbsent(field, child) || (field && !isWhole(field, child))) return false;
  }
  return true;
}

/** Fills in the defaults of a schema; a value that lacks none is itself. A null that the schema does not allow counts as absent. */
export const defaulted = (schema: Schema, value: unknown): unknown => (isWhole(schema, value) ? value : filledIn(schema, value));

function filledIn(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) return schema.items ? value.map((item) => filledIn(schema.items ?? {}, item)) : value;
  if (!isJsonObject(value)) return value;
  const filled: Json = {};
  for (const [key, child] of Object.entries(value)) {
    const field = fieldSchema(schema, key);
    if (!isAbsent(field, child)) filled[key] = field ? filledIn(field, child) : child;
  }
  for (const [key, field] of fieldsWithDefault(schema))
    if (filled[key] === undefined) filled[key] = filledIn(field, structuredClone(field.default));
  return filled;
}
