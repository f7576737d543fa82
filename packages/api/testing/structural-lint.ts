import { isJsonObject } from '../src/json.ts';

/** Keywords that make a schema non-structural. */
const REFUSED = ['$ref', 'oneOf', 'anyOf', 'allOf', 'prefixItems', 'not'];

/**
 * Lists what the API server would refuse in a schema, one line per finding. It has the structural rules of apiextensions that schemas made here can
 * break. Empty for a structural schema.
 */
export function lintStructural(schema: unknown, path = '$'): string[] {
  if (!isJsonObject(schema)) return [`${path}: not a schema`];
  const found = REFUSED.filter((keyword) => keyword in schema && !(keyword === 'anyOf' && schema['x-kubernetes-int-or-string'])).map(
    (keyword) => `${path}: ${keyword}`,
  );
  const { type, properties, items, additionalProperties } = schema;
  if (!type && !schema['x-kubernetes-int-or-string'] && !schema['x-kubernetes-preserve-unknown-fields'])
    found.push(`${path}: type missing`);
  if (additionalProperties === false) found.push(`${path}: additionalProperties: false`);
  if (properties && additionalProperties) found.push(`${path}: properties and additionalProperties`);
  if (type === 'array' && !items) found.push(`${path}: items missing`);
  if (schema['x-kubernetes-embedded-resource'] && type !== 'object') found.push(`${path}: embedded resource that is not an object`);
  if (isJsonObject(properties))
    for (const [key, value] of Object.entries(properties)) found.push(...lintStructural(value, `${path}.${key}`));
  if (items) found.push(...lintStructural(items, `${path}[]`));
  if (isJsonObject(additionalProperties)) found.push(...lintStructural(additionalProperties, `${path}{}`));
  return found;
}
