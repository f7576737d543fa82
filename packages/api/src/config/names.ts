/** Names around ClusterVersion that clusters and operators rely on (spec/cvo 3, 4, 6). */

/** Name of the one ClusterVersion of a cluster. */
export const CLUSTER_VERSION_NAME = 'version';
/** Namespace of the version operator: its lease, its events and its own Deployment. */
export const VERSION_NAMESPACE = 'openshift-cluster-version';
/** Name of the reference operator's Deployment and of its lease's predecessor, in that namespace. */
export const REFERENCE_OPERATOR = 'cluster-version-operator';
/** Name of the one object of FeatureGate, Proxy, Infrastructure and APIServer. */
export const CONFIG_NAME = 'cluster';
/** Field manager of every write of the version operator. */
export const VERSION_FIELD_MANAGER = 'flotilla-version-operator';

/** Annotations of manifests that change how they are applied (spec/cvo 3.2, 3.3, 3.7). */
export const ManifestAnnotation = {
  /** `true`: the object is created when missing, and never changed. */
  createOnly: 'release.openshift.io/create-only',
  /** `true`: an update removes the object from the cluster. */
  delete: 'release.openshift.io/delete',
  /** Containers that get the cluster's proxy, separated by commas. */
  injectProxy: 'config.openshift.io/inject-proxy',
  /** `true`: the cluster's TLS profile is written into the configuration files of a ConfigMap. */
  injectTls: 'config.openshift.io/inject-tls',
  /** On a live object, `true`: another program writes its CA bundle. */
  injectCaBundle: 'service.beta.openshift.io/inject-cabundle',
} as const;
