import type { KubeObject, Resource } from './kubernetes.ts';
import type { StructuralSchema } from './structural.ts';

/** A CustomResourceDefinition manifest with one served and stored version. Apply it as plain JSON: typed clients drop `x-kubernetes-*`. */
export type CrdManifest = { apiVersion: string; kind: string; metadata: { name: string }; spec: { [key: string]: unknown } };

/** Status of an object that no program has looked at: a tool that compares generations does not take it for done. */
export const UNSEEN = { observedGeneration: -1 } as const;

interface CrdOptions {
  readonly description: string;
  readonly spec?: StructuralSchema;
  /** Top-level fields, for a kind that does not keep them under `spec`. */
  readonly fields?: Readonly<Record<string, StructuralSchema>>;
  /** Required top-level fields. */
  readonly required?: readonly string[];
  /** CEL rules about the whole object. */
  readonly rules?: readonly { rule: string; message: string }[];
  /** Absent: the kind has no status subresource. */
  readonly status?: StructuralSchema;
  readonly shortNames?: readonly string[];
  readonly columns?: readonly { name: string; type: string; jsonPath: string; priority?: number }[];
}

/** Builds a CustomResourceDefinition from a kind and its schemas. */
export function crd<T extends KubeObject>(resource: Resource<T>, options: CrdOptions): CrdManifest {
  const { status, shortNames, columns } = options;
  const [group, version] = resource.apiVersion.split('/');
  const singular = resource.kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource.plural}.${group}` },
    spec: {
      group,
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular,
        ...(shortNames && { shortNames }),
      },
      scope: resource.namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(options) },
          ...(status && { subresources: { status: {} } }),
          ...(columns && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}

function objectSchema({ description, spec, fields, required, rules, status }: CrdOptions): StructuralSchema {
  const text = { type: 'string' };
  const properties = {
    apiVersion: text,
    kind: text,
    metadata: { type: 'object' },
    ...(spec && { spec }),
    ...fields,
    ...(status && { status }),
  };
  return { description, type: 'object', properties, ...(required && { required }), ...(rules && { 'x-kubernetes-validations': rules }) };
}
