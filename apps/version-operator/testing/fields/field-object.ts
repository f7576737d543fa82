type Json = Readonly<Record<string, unknown>>;

/** An object of a release, and what others may do to it. */
export interface FieldObject {
  readonly object: Json & { readonly metadata: Json & { readonly name: string; readonly namespace?: string } };
  readonly plural: string;
  /** Values that the object does not have and somebody may add, each by itself. */
  readonly more?: Json;
  /** Edits that stay, by `path how`, and the contract of docs/version-operator.md that gives them away. */
  readonly given?: readonly (readonly [contract: string, edits: RegExp])[];
}

/** Namespace of all that is in one. */
export const FIELDS_NAMESPACE = 'openshift-fields';

/** Labels and annotations of the release. */
export const META = { labels: { kept: 'yes' }, annotations: { 'fields.flotilla.io/kept': 'yes' } };
/** An object in the namespace. */
export const named = (apiVersion: string, kind: string, fields: Json = {}, name = kind.toLowerCase()) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: FIELDS_NAMESPACE, ...META },
  ...fields,
});
/** An object without a namespace. */
export const clusterWide = (apiVersion: string, kind: string, fields: Json = {}, name = `fields-${kind.toLowerCase()}`) => ({
  apiVersion,
  kind,
  metadata: { name, ...META },
  ...fields,
});
/** An object, and what others may do to it. */
export const of = (plural: string, object: FieldObject['object'], rest: Omit<FieldObject, 'plural' | 'object'> = {}): FieldObject => ({
  plural,
  object,
  ...rest,
});

/** Labels that selectors find. */
export const app = { app: 'fields' };
