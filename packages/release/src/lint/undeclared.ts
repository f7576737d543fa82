import { isJsonObject } from '@flotilla/api';
import { type Json, objectAt, objectsAt } from '../json-values.ts';
import { definedKind } from './order.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

/** Fields of one object that are named. */
const MOST_IN_OBJECT = 10;
/** Fields of every object, which no definition declares. */
const OF_ALL: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Fields that the payload's definition of their kind does not declare: a server leaves them out without a word. */
export function* checkUndeclared(source: LintSource): Generator<Finding> {
  const schemas = schemasOf(source);
  for (const manifest of source.manifests) {
    const schema = schemas.get(`${manifest.group}/${manifest.kind}/${manifest.version}`);
    if (!schema) continue;
    const own = Object.entries(manifest.object).filter(([field]) => !OF_ALL.has(field));
    for (const path of undeclaredIn('', Object.fromEntries(own), schema).slice(0, MOST_IN_OBJECT))
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'field',
        message: `${path} is not declared by the payload's CustomResourceDefinition, and a server leaves it out; remove it, or declare it`,
        near: [path.split('.').at(-1) ?? path],
      });
  }
}

/** Schemas by group, kind and version. Of several definitions of a kind, one per feature set, nobody knows which counts. */
function schemasOf({ manifests }: LintSource): ReadonlyMap<string, Json> {
  const found = new Map<string, Json | undefined>();
  for (const manifest of manifests) {
    const kind = definedKind(manifest);
    if (kind === undefined) continue;
    for (const { name, schema } of objectsAt(objectAt(manifest.object.spec).versions)) {
      const key = `${kind}/${String(name)}`;
      const { openAPIV3Schema } = objectAt(schema);
      found.set(key, !found.has(key) && isJsonObject(openAPIV3Schema) ? openAPIV3Schema : undefined);
    }
  }
  return new Map([...found].flatMap(([key, schema]) => (schema ? [[key, schema] as const] : [])));
}

function undeclaredIn(path: string, value: unknown, schema: Json): string[] {
  if (Array.isArray(value)) {
    const items = objectAt(schema.items);
    return value.flatMap((entry: unknown, index) => undeclaredIn(`${path}[${index}]`, entry, items));
  }
  if (!isJsonObject(value) || schema['x-kubernetes-preserve-unknown-fields'] === true) return [];
  const { properties, additionalProperties } = schema;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  return Object.entries(value).flatMap(([field, below]) => {
    const at = path === '' ? field : `${path}.${field}`;
    if (isEmbedded && OF_ALL.has(field)) return [];
    const known = objectAt(properties)[field];
    if (isJsonObject(known)) return undeclaredIn(at, below, known);
    if (isJsonObject(additionalProperties)) return undeclaredIn(at, below, additionalProperties);
    return additionalProperties === true ? [] : [at];
  });
}
