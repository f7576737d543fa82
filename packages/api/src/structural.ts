import { z } from 'zod';
import { FlotillaError } from './errors.ts';
import { isJsonObject } from './json.ts';

/** A JSON schema node in the form Kubernetes accepts in a CustomResourceDefinition. */
export type StructuralSchema = { readonly [key: string]: unknown };

/** Keywords that are copied; all others of zod are handled below or have no place in a CRD. */
const KEPT = [
  'description',
  'type',
  'nullable',
  'default',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
] as const;

/** Keywords that make a schema non-structural, and their replacements. */
const REFUSED: Record<string, string> = {
  $ref: 'drop .meta({ id }) and recursion',
  oneOf: 'use optional fields and a CEL rule',
  anyOf: 'use optional fields and a CEL rule',
  allOf: 'spread the shapes into one z.object',
  prefixItems: 'use an object instead of a tuple',
  not: 'use a CEL rule',
};

/** Formats that the API server checks itself; zod's patterns for them are not RE2, so only the format stays. */
const SERVER_FORMATS = new Set(['uri', 'email', 'hostname', 'ipv4', 'ipv6', 'cidr', 'uuid', 'byte', 'date', 'date-time']);

const INT32 = 2 ** 31;

/**
 * Converts a zod schema to a structural OpenAPI v3 schema for a CustomResourceDefinition. It describes the input side: fields with a default are
 * optional, and the server fills them in. Every `x-kubernetes-*` given by `.meta()` passes through.
 * @throws FlotillaError `FLOTILLA_SCHEMA_NOT_STRUCTURAL` naming the path that a CRD cannot express
 */
export function toStructural(schema: z.ZodType): StructuralSchema {
  return convert(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline', unrepresentable: 'throw' }), '$');
}

function convert(node: unknown, path: string): StructuralSchema {
  if (!isJsonObject(node)) throw notStructural(path, 'true/false schema', 'give the field a type');
  if (node['x-kubernetes-int-or-string']) return intOrString(node);
  for (const [keyword, fix] of Object.entries(REFUSED)) if (keyword in node) throw notStructural(path, keyword, fix);
  return defined({ ...kept(node), ...numeric(node), ...textual(node, path), ...children(node, path) });
}

/** Builds the only `anyOf` that the server accepts, in exactly this shape. */
function intOrString(node: StructuralSchema): StructuralSchema {
  const { type: _, minimum: _min, maximum: _max, ...rest } = kept(node);
  return { ...rest, anyOf: [{ type: 'integer' }, { type: 'string' }] };
}

/** Drops keywords that a later part has set to undefined. */
const defined = (node: StructuralSchema): StructuralSchema =>
  Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined));

function kept(node: StructuralSchema): StructuralSchema {
  const isKept = (key: string) => key.startsWith('x-kubernetes-') || KEPT.some((name) => name === key);
  return Object.fromEntries(Object.entries(node).filter(([key]) => isKept(key)));
}

/** Replaces zod's integer bounds of a double or an int32 by Kubernetes' format. */
function numeric({ type, minimum, maximum }: StructuralSchema): StructuralSchema {
  if (type !== 'integer') return {};
  const bounds = { minimum: minimum === -INT32 || minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum };
  if (maximum === INT32 - 1) return { ...bounds, maximum: undefined, format: 'int32' };
  return { ...bounds, maximum: maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, format: 'int64' };
}

function textual({ type, format, pattern }: StructuralSchema, path: string): StructuralSchema {
  if (type !== 'string') return {};
  if (typeof format === 'string' && SERVER_FORMATS.has(format)) return { format, pattern: undefined };
  if (typeof pattern === 'string' && /\(\?[=!<]|\\[1-9]/.test(pattern)) throw notStructural(path, `pattern ${pattern}`, 'use RE2 syntax');
  return {};
}

function children(node: StructuralSchema, path: string): StructuralSchema {
  if (node.type === 'array') return { items: convert(node.items, `${path}[]`) };
  const { properties, additionalProperties: rest } = node;
  const open =
    node['x-kubernetes-preserve-unknown-fields'] || (isJsonObject(rest) && Object.keys(rest).length === 0) || (!node.type && !node.enum);
  const fields = isJsonObject(properties) && Object.keys(properties).length > 0 ? properties : undefined;
  const isMap = !open && isJsonObject(rest);
  if (isMap && fields) throw notStructural(path, 'properties beside additionalProperties', 'use either z.object or z.record');
  return {
    ...(fields && {
      properties: Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, convert(value, `${path}.${key}`)])),
    }),
    ...(isMap && { additionalProperties: convert(rest, `${path}{}`) }),
    ...(open && { 'x-kubernetes-preserve-unknown-fields': true }),
  };
}

const notStructural = (path: string, what: string, fix: string) =>
  new FlotillaError('FLOTILLA_SCHEMA_NOT_STRUCTURAL', `${path}: ${what} is not possible in a CRD; ${fix}`);
