import type { KubeObject, Resource } from './kubernetes.ts';
import type { StructuralSchema } from './structural.ts';

/** A CustomResourceDefinition manifest with one served and stored version. Apply it as plain JSON: typed clients drop `x-kubernetes-*`. */
export type CrdManifest = { apiVersion: string; kind: string; metadata: { name: string }; spec: { [key: string]: unknown } };

interface CrdOptions {
  readonly description: string;
  readonly spec?: StructuralSchema;
  /** Fields at the top level, of a kind that does not keep them under `spec`. */
  readonly fields?: Readonly<Record<string, StructuralSchema>>;
  /** Fields at the top level that an object must have. */
  readonly required?: readonly string[];
  /** What the server asks of an object as a whole, in CEL. */
  readonly rules?: readonly { rule: string; message: string }[];
  /** Absent: the kind has no status subresource. */
  readonly status?: StructuralSchema;
  readonly shortNames?: readonly string[];
  readonly columns?: readonly { name: string; type: string; jsonPath: string }[];
}

/** A CustomResourceDefinition made from a kind and its schemas. */
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
