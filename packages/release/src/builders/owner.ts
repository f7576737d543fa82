import { CLUSTER_VERSION_NAME, ManifestAnnotation } from '@flotilla/api/config';
import { defined, type Json, objectAt, objectsAt } from '../json-values.ts';
import type { BuildContext } from './builder.ts';

/** The object with its owners: those of its manifest, or the ClusterVersion (spec/cvo 3.2). Status and times are not a manifest's to say. */
export function withOwner(manifest: Json, { ownerUid }: BuildContext): Json {
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
