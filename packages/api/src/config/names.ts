/** Names around ClusterVersion that clusters and operators rely on (spec/cvo 3, 4, 6). */

/** Name of the one ClusterVersion of a cluster. */
export const CLUSTER_VERSION_NAME = 'version';
/** Namespace of whoever reconciles ClusterVersion: its lease, its events and its own Deployment. */
export const VERSION_NAMESPACE = 'openshift-cluster-version';
/** Name of the reference operator's Deployment and of its lease's predecessor, in that namespace. */
export const REFERENCE_OPERATOR = 'cluster-version-operator';
/** Name of the one object of FeatureGate, Proxy, Infrastructure and APIServer. */
export const CONFIG_NAME = 'cluster';
/** Field manager of every write of the version operator. */
export const VERSION_FIELD_MANAGER = 'flotilla-version-operator';

/** Annotations of manifests that say what to do with them beside applying (spec/cvo 3.2, 3.3, 3.7). */
export const ManifestAnnotation = {
  /** `true`: created where it is not, left alone where it is. */
  createOnly: 'release.openshift.io/create-only',
  /** `true`: removed from the cluster by an update. */
  delete: 'release.openshift.io/delete',
  /** Containers that get the cluster's proxy, separated by commas. */
  injectProxy: 'config.openshift.io/inject-proxy',
  /** `true`: the cluster's TLS profile goes into the configuration files of a ConfigMap. */
  injectTls: 'config.openshift.io/inject-tls',
  /** On a live object, `true`: its CA bundle is somebody else's. */
  injectCaBundle: 'service.beta.openshift.io/inject-cabundle',
} as const;
