import { z } from 'zod';
import { labelKey, labelValue, list, map, text } from './bounded.ts';
import { foreign, readable, readableList } from './foreign.ts';

/** Name and, for namespaced kinds, namespace of one object. */
export interface Ref {
  readonly namespace?: string;
  readonly name: string;
}

/** Used fields of `metadata`; all others are kept unchanged. */
export const ObjectMeta = z.looseObject({
  name: z.string().default(''),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
});
export type ObjectMeta = z.output<typeof ObjectMeta>;

/** Any Kubernetes object; unknown fields are kept. */
export const KubeObject = z.looseObject({ apiVersion: z.string().optional(), kind: z.string().optional(), metadata: ObjectMeta });
export type KubeObject = z.output<typeof KubeObject>;

/** A kind for a client: its path on the server, and the schema of its objects. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** `group/version`, or `v1` for the core group. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Plural in the URL. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Parses one object from a server; throws a ZodError that names the field. */
  readonly schema: z.ZodType<T>;
}

/** Declares a kind with a schema of its objects. */
export function resource<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced: boolean,
  schema: z.ZodType<T>,
): Resource<T> {
  return { apiVersion, kind, plural, namespaced, schema: foreign(schema) };
}

/** Declares a kind whose objects are read untyped. */
export const untyped = (apiVersion: string, kind: string, plural: string, namespaced = true): Resource =>
  resource(apiVersion, kind, plural, namespaced, KubeObject);

/** Formats `namespace/name`, or the name alone for cluster-scoped objects. */
export const refKey = (ref: Ref): string => (ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name);

/** Parses a key of `refKey`. */
export function refOfKey(key: string): Ref {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** A label selector of metav1. Operators are not checked against an enum (spec/talm 1.1). */
export const LabelSelector = z.object({
  matchLabels: map(labelValue(), 64).optional().describe('Labels that must be equal.'),
  matchExpressions: list(
    z.object({
      key: labelKey().describe('Label key the requirement applies to.'),
      operator: text(64).describe('In, NotIn, Exists or DoesNotExist.'),
      values: list(labelValue(), 5_000).optional().describe('Values for In and NotIn.'),
    }),
    64,
  )
    .optional()
    .describe('Requirements that must all hold.'),
});
export type LabelSelector = z.output<typeof LabelSelector>;

const Entry = z.looseObject({
  manager: z.string().default(''),
  /** Empty for the object itself. */
  subresource: z.string().default(''),
  /** RFC 3339, to the second. */
  time: z.string().optional(),
  fieldsV1: readable(z.record(z.string(), z.unknown())),
});
/** Most entries that are read; a server keeps far fewer. */
const MOST_ENTRIES = 1_000;
const Entries = z.object({ managedFields: readableList(Entry, MOST_ENTRIES) });

/** Entries of the server on who wrote an object, and when. One that cannot be read is left out. */
export const managedFieldsOf = ({ managedFields }: ObjectMeta): readonly z.output<typeof Entry>[] =>
  Entries.parse({ managedFields }).managedFields ?? [];
