import { isJsonObject } from '@flotilla/api';
import { z } from 'zod';
import { CUSTOM, type ServedKind } from './built-in-kinds.ts';
import { UnsupportedError } from './refusals/refusal.ts';
import { knownRule } from './schema/rules.ts';
import { type Json, METADATA, type Schema } from './schema/schema.ts';

const Definition = z.looseObject({
  spec: z.looseObject({
    group: z.string(),
    scope: z.enum(['Namespaced', 'Cluster']),
    names: z.looseObject({
      kind: z.string(),
      plural: z.string(),
      singular: z.string().optional(),
      listKind: z.string().optional(),
    }),
    versions: z.array(
      z.looseObject({
        name: z.string(),
        served: z.boolean(),
        storage: z.boolean(),
        schema: z.looseObject({ openAPIV3Schema: z.record(z.string(), z.unknown()) }).optional(),
        subresources: z.looseObject({ status: z.unknown().optional(), scale: z.unknown().optional() }).optional(),
        selectableFields: z.array(z.looseObject({ jsonPath: z.string() })).optional(),
      }),
    ),
  }),
});

/** Parts of a schema that are not judged, but say nothing about what is valid either. */
const HARMLESS = new Set(['description', 'title', 'example', 'externalDocs']);
const JUDGED = new Set([
  ...['type', 'format', 'properties', 'additionalProperties', 'items', 'required', 'enum', 'default', 'nullable', 'minimum', 'maximum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'pattern'],
  ...['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'],
  ...['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type', 'x-kubernetes-validations'],
]);

/** The kind that a CustomResourceDefinition brings. Throws UnsupportedError for a part of its schema that nobody here judges by. */
export function customKind(definition: unknown): ServedKind {
  const { spec } = Definition.parse(definition);
  const served = spec.versions.filter((version) => version.served);
  const [version, ...others] = served;
  const name = `${spec.names.plural}.${spec.group}`;
  if (!version || others.length > 0) throw new UnsupportedError(`serve CRD ${name} in ${served.length} versions`);
  if (version.subresources?.scale !== undefined) throw new UnsupportedError(`serve CRD ${name} with subresource scale`);
  const schema = (version.schema?.openAPIV3Schema ?? {}) as Schema;
  checkSchema(schema, name);
  return {
    group: spec.group,
    version: version.name,
    kind: spec.names.kind,
    plural: spec.names.plural,
    singular: spec.names.singular ?? spec.names.kind.toLowerCase(),
    namespaced: spec.scope === 'Namespaced',
    schema: withMetadata(schema),
    hasStatus: version.subresources?.status !== undefined,
    isCustom: true,
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
    strategy: CUSTOM,
  };
}

const withMetadata = (schema: Schema): Schema => ({
  ...schema,
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...schema.properties, metadata: METADATA },
});

function checkSchema(schema: Schema, path: string): void {
  // The one use of anyOf that a structural schema may have with it.
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true;
  for (const key of Object.keys(schema))
    if (!HARMLESS.has(key) && !JUDGED.has(key) && !(isIntOrString && ['anyOf', 'allOf'].includes(key)))
      throw new UnsupportedError(`judge by ${key} of the schema at ${path}`);
  for (const { rule } of schema['x-kubernetes-validations'] ?? [])
    if (!knownRule(rule)) throw new UnsupportedError(`judge by rule ${JSON.stringify(rule)} of the schema at ${path}`);
  for (const [key, field] of Object.entries(schema.properties ?? {})) checkSchema(field, `${path}.${key}`);
  if (schema.items) checkSchema(schema.items, `${path}[]`);
  if (isJsonObject(schema.additionalProperties)) checkSchema(schema.additionalProperties, `${path}.*`);
}

/** A CustomResourceDefinition that is served, as the server's own controllers complete it. @param time RFC 3339 */
export function establishedDefinition(definition: Json, time: string): Json {
  const { spec } = Definition.parse(definition);
  const { names, versions } = spec;
  const singular = names.singular ?? names.kind.toLowerCase();
  const whole = { ...names, singular, listKind: names.listKind ?? `${names.kind}List` };
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: 'True',
    lastTransitionTime: time,
    reason,
    message,
  });
  return {
    ...definition,
    spec: { conversion: { strategy: 'None' }, ...spec, names: whole },
    status: {
      conditions: [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: whole,
      storedVersions: versions.filter(({ storage }) => storage).map(({ name }) => name),
    },
  };
}
