import { isJsonObject } from '@flotilla/api';
import type { ServedResource } from '@flotilla/runtime';
import { BUILT_IN, type Strategy, strategyOf } from './built-in-strategies.ts';
import { recordedKinds } from './record-kinds.ts';
import { type Json, METADATA, type Schema } from './schema/schema.ts';

/** A kind that the server serves. */
export interface ServedKind extends ServedResource {
  readonly schema: Schema;
  /** Its status is a subresource. */
  readonly hasStatus: boolean;
  /** A CRD brought it. */
  readonly isCustom: boolean;
  /** Paths of fields that select objects, besides name and namespace. */
  readonly selectableFields: readonly string[];
  readonly strategy: Strategy;
}

/** `group/version`, or the version alone for the core group. */
export const apiVersionOf = ({ group, version }: Pick<ServedKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** Key of a kind among all. */
export const kindKey = (group: string, plural: string): string => `${group}/${plural}`;

let builtIn: readonly ServedKind[] | undefined;

/** The kinds that every API server has, as they were recorded from a real one. */
export function builtInKinds(): readonly ServedKind[] {
  builtIn ??= readKinds();
  return builtIn;
}

function readKinds(): ServedKind[] {
  const { kinds, definitions } = recordedKinds();
  const resolved = new Map<string, Schema>();
  const schemaOf = (name: string): Schema => {
    const known = resolved.get(name);
    if (known) return known;
    const schema: Json = {};
    resolved.set(name, schema);
    Object.assign(schema, resolve(definitions[name] ?? {}, schemaOf));
    return schema;
  };
  return kinds.map(({ definition, ...kind }) => {
    const strategy = strategyOf(kind.group, kind.kind);
    return { ...kind, schema: schemaOf(definition), isCustom: false, selectableFields: strategy.selectableFields ?? [], strategy };
  });
}

/** Puts definitions in the place of references to them. */
function resolve(schema: Json, schemaOf: (name: string) => Schema): Json {
  if (typeof schema.$ref === 'string') return (schema.$ref === 'metadata' ? METADATA : schemaOf(schema.$ref)) as Json;
  const whole: Json = { ...schema };
  if (isJsonObject(schema.properties))
    whole.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, field]) => [key, isJsonObject(field) ? resolve(field, schemaOf) : field]),
    );
  for (const key of ['items', 'additionalProperties']) if (isJsonObject(schema[key])) whole[key] = resolve(schema[key], schemaOf);
  return whole;
}

/** The strategy of kinds that a CRD brings. */
export const CUSTOM: Strategy = { ...BUILT_IN, countsGenerations: true, needsVersion: true };
