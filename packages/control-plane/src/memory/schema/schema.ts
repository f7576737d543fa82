import { isJsonObject, perObject } from '@flotilla/api';

/** Any JSON object. */
export type Json = Record<string, unknown>;

/** A structural schema, as a CRD has it or as the API server's own OpenAPI was recorded. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message?: string }[];
}

/** Schema of anything, whose objects are merged field by field. */
const ANYTHING: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'object', additionalProperties: text };

/** Schema of `metadata`, the same for every kind. */
export const METADATA: Schema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: { type: 'string', format: 'date-time', nullable: true },
    deletionTimestamp: { type: 'string', format: 'date-time', nullable: true },
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64' },
    labels: texts,
    annotations: texts,
    finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    ownerReferences: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      items: {
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: text,
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
    managedFields: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: ANYTHING },
  },
};

/** Schema of a field of an object; undefined when the schema has none of that name. */
export function fieldSchema(schema: Schema, key: string): Schema | undefined {
  const own = schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
  if (own) return own;
  if (isJsonObject(schema.additionalProperties)) return schema.additionalProperties;
  return schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true ? ANYTHING : undefined;
}

/** True for a schema that takes anything as it is, however deep: nothing in it is unknown, and nothing has a default. */
export const takesAnything: (schema: Schema) => boolean = perObject(
  ({ properties, items, additionalProperties, ...schema }) =>
    schema['x-kubernetes-preserve-unknown-fields'] === true &&
    !schema['x-kubernetes-embedded-resource'] &&
    properties === undefined &&
    items === undefined &&
    !isJsonObject(additionalProperties),
);

/** Keys that name an item of a list; undefined for a list that is no map. */
export const listKeys = (schema: Schema): readonly string[] | undefined =>
  schema['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined;
