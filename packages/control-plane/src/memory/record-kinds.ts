import { readFileSync } from 'node:fs';
import { isJsonObject } from '@flotilla/api';
import { type Client, readServedResources } from '@flotilla/runtime';
import { z } from 'zod';
import type { Json } from './schema/schema.ts';

/** Built-in kinds that programs, agents and simulators read or write, by group and version. */
const RECORDED: readonly (readonly [group: string, version: string, kinds: readonly string[]])[] = [
  [
    '',
    'v1',
    ['ConfigMap', 'Endpoints', 'Event', 'Namespace', 'Node', 'PersistentVolumeClaim', 'Pod', 'Secret', 'Service', 'ServiceAccount'],
  ],
  ['apps', 'v1', ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet']],
  ['autoscaling', 'v2', ['HorizontalPodAutoscaler']],
  ['batch', 'v1', ['CronJob', 'Job']],
  ['policy', 'v1', ['PodDisruptionBudget']],
  ['rbac.authorization.k8s.io', 'v1', ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']],
  ['apiextensions.k8s.io', 'v1', ['CustomResourceDefinition']],
  ['coordination.k8s.io', 'v1', ['Lease']],
  ['events.k8s.io', 'v1', ['Event']],
];

/** Shape of the built-in kinds of an API server. */
const KindsRecord = z.object({
  /** Version of the server. */
  server: z.string(),
  kinds: z.array(
    z.object({
      group: z.string(),
      version: z.string(),
      kind: z.string(),
      plural: z.string(),
      singular: z.string(),
      namespaced: z.boolean(),
      hasStatus: z.boolean(),
      /** Name of its definition. */
      definition: z.string(),
    }),
  ),
  definitions: z.record(z.string(), z.record(z.string(), z.unknown())),
});
type KindsRecord = z.output<typeof KindsRecord>;

/** The kinds as they were recorded last. */
export const recordedKinds = (): KindsRecord =>
  KindsRecord.parse(JSON.parse(readFileSync(new URL('./generated/kinds.json', import.meta.url), 'utf8')));

const Document = z.object({
  paths: z.record(z.string(), z.unknown()),
  components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});
const GroupVersionKind = z.array(z.object({ group: z.string(), version: z.string(), kind: z.string() }));

/** Parts of a definition that say what is stored. */
const KEPT = new Set([
  'type',
  'format',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
]);
/** Definitions that the code has, or that hold anything. */
const SCALARS: Readonly<Record<string, Json>> = {
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': { $ref: 'metadata' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': { 'x-kubernetes-preserve-unknown-fields': true },
  'io.k8s.apimachinery.pkg.runtime.RawExtension': { 'x-kubernetes-preserve-unknown-fields': true },
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { 'x-kubernetes-int-or-string': true },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { 'x-kubernetes-int-or-string': true },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps': { 'x-kubernetes-preserve-unknown-fields': true },
};

/** Reads the built-in kinds of a server as shape alone: no descriptions, no defaults. */
export async function recordKinds(client: Client): Promise<KindsRecord> {
  const { gitVersion } = z.object({ gitVersion: z.string() }).parse(await client.request('GET', '/version'));
  const kinds: KindsRecord['kinds'] = [];
  const definitions: Record<string, Json> = {};
  for (const [group, version, wanted] of RECORDED) {
    const root = group === '' ? `api/${version}` : `apis/${group}/${version}`;
    const text = await client.getText(`/openapi/v3/${root}`, { maxBytes: 64 * 1024 * 1024 });
    const { paths, components } = Document.parse(JSON.parse(text));
    const served = await readServedResources(client, group, version);
    for (const kind of wanted) {
      const resource = served.find((each) => each.kind === kind);
      const definition = Object.entries(components.schemas).find(([, schema]) => isKind(schema, group, version, kind))?.[0];
      if (!resource || !definition) throw new RangeError(`the server does not serve ${root} ${kind}`);
      const path = `/${root}/${resource.namespaced ? 'namespaces/{namespace}/' : ''}${resource.plural}/{name}/status`;
      kinds.push({ ...resource, hasStatus: Object.hasOwn(paths, path), definition });
      keep(definition, components.schemas, definitions);
    }
  }
  const sorted = Object.fromEntries(Object.entries(definitions).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { server: gitVersion, kinds, definitions: sorted };
}

function isKind(schema: Json, group: string, version: string, kind: string): boolean {
  const { data = [] } = GroupVersionKind.safeParse(schema['x-kubernetes-group-version-kind']);
  return data.length === 1 && data.some((each) => each.group === group && each.version === version && each.kind === kind);
}

function keep(name: string, from: Readonly<Record<string, Json>>, kept: Record<string, Json>): void {
  if (kept[name]) return;
  kept[name] = {};
  kept[name] = shapeOf(from[name] ?? {}, (other) => keep(other, from, kept));
}

function shapeOf(schema: Json, needs: (name: string) => void): Json {
  const reference = isJsonObject(schema) ? refOf(schema) : undefined;
  if (reference !== undefined) {
    const scalar = SCALARS[reference];
    if (scalar) return scalar;
    needs(reference);
    return { $ref: reference };
  }
  const shape: Json = Object.fromEntries(Object.entries(schema).filter(([key]) => KEPT.has(key)));
  if (isJsonObject(schema.properties))
    shape.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, field]) => [key, isJsonObject(field) ? shapeOf(field, needs) : {}]),
    );
  for (const key of ['items', 'additionalProperties']) if (isJsonObject(schema[key])) shape[key] = shapeOf(schema[key], needs);
  if (shape.type === undefined) return { 'x-kubernetes-preserve-unknown-fields': true };
  if (shape.type === 'object' && shape.properties === undefined && shape.additionalProperties === undefined)
    return { ...shape, 'x-kubernetes-preserve-unknown-fields': true };
  return shape;
}

function refOf(schema: Json): string | undefined {
  const all = Array.isArray(schema.allOf) ? schema.allOf : [];
  const ref = typeof schema.$ref === 'string' ? schema.$ref : all.length === 1 && isJsonObject(all[0]) ? all[0].$ref : undefined;
  return typeof ref === 'string' ? ref.replace('#/components/schemas/', '') : undefined;
}
