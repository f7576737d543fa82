import { isJsonObject } from '@flotilla/api';
import { fieldSchema, type Schema } from './schema.ts';

/** Words of the server about an object of a built-in kind in which a value has another type than its field; undefined where all fit. */
export function decodeError(kind: { readonly kind: string; readonly schema: Schema }, object: unknown): string | undefined {
  const misfit = misfitOf(kind.schema, object, '');
  if (!misfit) return undefined;
  const { path, found, wanted } = misfit;
  return `json: cannot unmarshal ${found} into Go struct field ${kind.kind}.${path} of type ${wanted}`;
}

interface Misfit {
  readonly path: string;
  readonly found: string;
  readonly wanted: string;
}

function misfitOf(schema: Schema, value: unknown, path: string): Misfit | undefined {
  if (value === null || value === undefined || schema['x-kubernetes-int-or-string'] || schema.type === undefined) return undefined;
  const found = typeOf(value);
  const wanted = GO[schema.type] ?? schema.type;
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  if (found !== (isNumber ? 'number' : schema.type === 'boolean' ? 'bool' : schema.type)) return { path, found, wanted };
  const children: (readonly [string, Schema | undefined, unknown])[] = Array.isArray(value)
    ? value.map((item) => [path, schema.items, item] as const)
    : isJsonObject(value)
      ? Object.entries(value).map(([key, child]) => [deeper(schema, path, key), fieldSchema(schema, key), child] as const)
      : [];
  for (const [at, field, child] of children) {
    const misfit = field && misfitOf(field, child, at);
    if (misfit) return misfit;
  }
  return undefined;
}

/** Go names no keys of maps. */
const deeper = (schema: Schema, path: string, key: string): string => {
  if (!schema.properties) return path;
  return path === '' ? key : `${path}.${key}`;
};

const GO: Readonly<Record<string, string>> = { integer: 'int32', boolean: 'bool', number: 'float64' };

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value === 'bigint' ? 'number' : typeof value;
};
