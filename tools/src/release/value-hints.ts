/** JSON as a schema is written in. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const isObject = (json: Json | undefined): json is JsonObject => typeof json === 'object' && json !== null && !Array.isArray(json);

/**
 * A schema of values with hints. Helm prints what a schema says and nothing else, so the hints are conditions that a wrong value fails too:
 * a name that is nearly right has to be the right one, and a text of another pattern may be its example.
 */
export function withHints(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withHints);
  if (!isObject(schema)) return schema;
  const { pattern, examples, ...rest } = schema;
  const { properties, additionalProperties } = schema;
  const below = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withHints(value)]));
  const hinted: JsonObject = { ...below, ...(pattern !== undefined && patternOf(pattern, examples)) };
  if (!isObject(properties) || additionalProperties !== false) return hinted;
  const names = Object.keys(properties);
  return { ...hinted, propertyNames: { allOf: names.map((name) => nearly(name, names)) } };
}

function patternOf(pattern: Json, examples: Json | undefined): JsonObject {
  if (!Array.isArray(examples)) return { pattern };
  return { anyOf: [{ pattern }, { enum: examples.map((example) => `for example ${String(example)}`) }] };
}

/** Names that differ from `name` in one letter or in case must be one of those that are there. */
function nearly(name: string, names: readonly string[]): JsonObject {
  const pattern = `^(${Array.from(name, (_, index) => `${name.slice(0, index)}.{0,2}${name.slice(index + 1)}`).join('|')})$`;
  const near = new RegExp(pattern, 'i');
  return { if: { not: { pattern: `(?i)${pattern}` } }, else: { enum: names.filter((each) => near.test(each)) } };
}
