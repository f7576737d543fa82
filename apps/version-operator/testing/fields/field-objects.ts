import { core } from './core.ts';
import { clusterWide, FIELDS_NAMESPACE, type FieldObject, of } from './field-object.ts';
import { foreign } from './foreign.ts';
import { policies } from './policies.ts';
import { workloads } from './workloads.ts';

/** The kinds that releases carry, with the fields that public operators' manifests set and neutral values, in the order of a release. */
export const fieldObjects: readonly FieldObject[] = [
  of('namespaces', clusterWide('v1', 'Namespace', {}, FIELDS_NAMESPACE)),
  ...core,
  ...workloads,
  ...policies,
  ...foreign,
];
