import { untyped } from '@flotilla/api';
import type { Json } from '../schema/schema.ts';

/** A kind with a schema of every sort, and a status. */
export const Boat = untyped('test.flotilla.io/v1', 'Boat', 'boats');
/** A kind whose status is no subresource. */
export const Buoy = untyped('test.flotilla.io/v1', 'Buoy', 'buoys');
/** A kind of the whole cluster. */
export const Sea = untyped('test.flotilla.io/v1', 'Sea', 'seas', false);
/** A kind whose CRD a question brings. */
export const Raft = untyped('test.flotilla.io/v1', 'Raft', 'rafts');

const text = { type: 'string' };
const spec: Json = {
  type: 'object',
  required: ['sails'],
  properties: {
    sails: { type: 'integer', format: 'int32', minimum: 0, maximum: 9 },
    color: { type: 'string', enum: ['red', 'blue'] },
    name: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]*$' },
    flag: { type: 'string', default: 'white' },
    rig: { type: 'object', properties: { masts: { type: 'integer', default: 1 }, kind: text } },
    hull: { type: 'object', default: {}, properties: { planks: { type: 'integer', default: 100 } } },
    crew: {
      type: 'array',
      maxItems: 3,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: text, role: text, watch: { type: 'integer', default: 1 } } },
    },
    ports: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    log: { type: 'array', minItems: 1, items: text },
    cargo: { type: 'object', maxProperties: 2, additionalProperties: { type: 'integer' } },
    route: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { from: text, to: text } },
    notes: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    load: { 'x-kubernetes-int-or-string': true },
    owner: { type: 'string', nullable: true },
    launched: { type: 'string', format: 'date-time' },
    afloat: { type: 'boolean' },
    depth: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >= 0', message: 'must not be negative' }] },
    pilot: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  },
};
const status: Json = {
  type: 'object',
  properties: { speed: { type: 'integer', maximum: 40 }, seen: { type: 'array', items: text }, observedGeneration: { type: 'integer' } },
};

/** A CRD. @param schema of the top-level fields */
export function definition(
  kind: { readonly kind: string; readonly plural: string; readonly namespaced: boolean },
  schema: Json,
  hasStatus: boolean,
): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.test.flotilla.io` },
    spec: {
      group: 'test.flotilla.io',
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: { plural: kind.plural, singular: kind.kind.toLowerCase(), kind: kind.kind, listKind: `${kind.kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          ...(hasStatus && { subresources: { status: {} } }),
          schema: { openAPIV3Schema: { type: 'object', properties: schema } },
        },
      ],
    },
  };
}

/** CRDs of these kinds. */
export const boatCrds = (): readonly Json[] => [
  definition(Boat, { spec, status }, true),
  definition(Buoy, { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, status }, false),
  definition(Sea, { spec: { type: 'object', properties: { salt: { type: 'integer' } } } }, false),
];
