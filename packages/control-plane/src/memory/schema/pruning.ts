import { isJsonObject } from '@flotilla/api';
import { fieldSchema, type Json, METADATA, type Schema, takesAnything } from './schema.ts';

/** Fields of an embedded object that its schema need not name. */
const EMBEDDED = new Set(['apiVersion', 'kind']);

/** True for a value that has no field but those of the schema. */
function isPruned(schema: Schema, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || takesAnything(schema)) return true;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined || value.every((item) => isPruned(items, item));
  }
  for (const [key, child] of Object.entries(value)) {
    const field = schemaOfField(schema, key);
    if (field === undefined || (field !== 'whole' && !isPruned(field, child))) return false;
  }
  return true;
}

/**
 * Leaves out every field that the schema does not have, as the server does before it stores an object; one without such fields is itself.
 * @param dropped gets the path of each
 */
export const pruned = (schema: Schema, value: unknown, dropped: (path: string) => void): unknown =>
  isPruned(schema, value) ? value : withoutUnknown(schema, value, dropped, '');

function withoutUnknown(schema: Schema, value: unknown, dropped: (path: string) => void, path: string): unknown {
  if (Array.isArray(value))
    return schema.items ? value.map((item, index) => withoutUnknown(schema.items ?? {}, item, dropped, `${path}[${index}]`)) : value;
  if (!isJsonObject(value)) return value;
  const kept: Json = {};
  for (const [key, child] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    const field = schemaOfField(schema, key);
    if (field === undefined) dropped(at);
    else kept[key] = field === 'whole' ? child : withoutUnknown(field, child, dropped, at);
  }
  return kept;
}

function schemaOfField(schema: Schema, key: string): Schema | 'whole' | undefined {
  if (schema['x-kubernetes-embedded-resource']) {
    if (EMBEDDED.has(key)) return 'whole';
    if (key === 'metadata') return METADATA;
  }
  return fieldSchema(schema, key);
}

/** A built-in kind's object without empty lists and maps, which the server writes only where they are required. */
export function withoutEmpty(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(schema.items ?? {}, item));
  if (!isJsonObject(value)) return value;
  const kept: Json = {};
  for (const [key, child] of Object.entries(value)) {
    const field = fieldSchema(schema, key) ?? {};
    const isList = Array.isArray(child) && child.length === 0;
    const isMap = isJsonObject(child) && Object.keys(child).length === 0 && field.additionalProperties !== undefined;
    if (schema.required?.includes(key) || !(isList || isMap)) kept[key] = withoutEmpty(field, child);
  }
  return kept;
}
