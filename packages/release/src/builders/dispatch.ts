import { CLUSTER_VERSION_NAME, ManifestAnnotation } from '@flotilla/api/config';
import { textOfObject } from '../graph/task-graph.ts';
import { UpdateError } from '../graph/update-error.ts';
import { defined, type Json, objectAt, objectsAt } from '../json-values.ts';
import type { Manifest, ManifestId } from '../payload/manifest.ts';
import type { BuildContext, Builder } from './builder.ts';
import { clusterOperator } from './cluster-operator.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { generic } from './generic.ts';
import { cronJob, job } from './jobs.ts';
import {
  clusterRole,
  configMap,
  imageStream,
  namespace,
  operatorGroup,
  role,
  roleBinding,
  securityContextConstraints,
  service,
  serviceAccount,
  validatingWebhookConfiguration,
} from './simple-kinds.ts';
import { daemonSet, deployment, statefulSet } from './workloads.ts';

/** Kinds with rules of their own, in exactly this version (spec/cvo 3.1). */
const builders: ReadonlyMap<string, Builder> = new Map([
  ['config.openshift.io/v1/ClusterOperator', clusterOperator],
  ['admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration', validatingWebhookConfiguration],
  ['apiextensions.k8s.io/v1/CustomResourceDefinition', customResourceDefinition],
  ['apps/v1/DaemonSet', daemonSet],
  ['apps/v1/Deployment', deployment],
  ['apps/v1/StatefulSet', statefulSet],
  ['batch/v1/CronJob', cronJob],
  ['batch/v1/Job', job],
  ['/v1/ConfigMap', configMap],
  ['/v1/Namespace', namespace],
  ['/v1/Service', service],
  ['/v1/ServiceAccount', serviceAccount],
  ['image.openshift.io/v1/ImageStream', imageStream],
  ['operators.coreos.com/v1/OperatorGroup', operatorGroup],
  ['rbac.authorization.k8s.io/v1/ClusterRole', clusterRole],
  ['rbac.authorization.k8s.io/v1/ClusterRoleBinding', roleBinding],
  ['rbac.authorization.k8s.io/v1/Role', role],
  ['rbac.authorization.k8s.io/v1/RoleBinding', roleBinding],
  ['security.openshift.io/v1/SecurityContextConstraints', securityContextConstraints],
]);

/** The builder of a manifest's kind. */
export const builderOf = ({ group, version, kind }: Pick<Manifest, 'group' | 'version' | 'kind'>): Builder =>
  builders.get(`${group}/${version}/${kind}`) ?? generic;

/** Builds the object of a manifest for a cluster. */
export const buildObject = (manifest: Manifest, object: Json, context: BuildContext): Json =>
  builderOf(manifest).build(withOwner(object, context), context);

/** Treatment of a manifest: its object is kept as it says, created where absent and then left alone, or removed. */
export type Intent = 'apply' | 'create-only' | 'delete';

/** Reads the intent from the annotations. @throws UpdateError for a delete annotation whose value is not `true` */
export function intentOf(manifest: Pick<Manifest, 'annotations' | keyof ManifestId>): Intent {
  const { annotations } = manifest;
  const deletion = annotations?.[ManifestAnnotation.delete];
  if (deletion !== undefined && deletion !== 'true')
    throw new UpdateError({
      reason: 'UpdatePayloadFailed',
      message: `${textOfObject(manifest)}: invalid delete annotation "${ManifestAnnotation.delete}" value: ${JSON.stringify(deletion)}`,
    });
  if (deletion === 'true') return 'delete';
  return annotations?.[ManifestAnnotation.createOnly]?.toLowerCase() === 'true' ? 'create-only' : 'apply';
}

/** The object with its owners: those of its manifest, or the ClusterVersion (spec/cvo 3.2). Status and times are not a manifest's to say. */
function withOwner(manifest: Json, { ownerUid }: BuildContext): Json {
  const { status: _status, metadata, ...rest } = manifest;
  const { creationTimestamp: _created, ownerReferences, ...meta } = objectAt(metadata);
  const others = objectsAt(ownerReferences).filter(({ kind }) => kind !== 'ClusterVersion');
  const owners =
    others.length > 0 ? others : ownerUid === undefined ? undefined : [clusterVersionOwner(ownerUid, objectAt(meta.annotations))];
  return { ...rest, metadata: defined({ ...meta, ownerReferences: owners }) };
}

const clusterVersionOwner = (uid: string, annotations: Json) =>
  defined({
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    name: CLUSTER_VERSION_NAME,
    uid,
    controller: annotations[ManifestAnnotation.createOnly] === 'true' ? undefined : true,
  });
