import { z } from 'zod';
import { foreign, readable, readableList } from '../foreign.ts';
import { KubeObject, resource } from '../kubernetes.ts';

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

/** Condition of this group: unlike metav1.Condition it may lack reason and message, and has no generation. */
export const ConfigCondition = z.looseObject({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTransitionTime: z.string().default(''),
});
export type ConfigCondition = z.output<typeof ConfigCondition>;

/** Conditions of other writers; unreadable ones are absent. */
const configConditions = readableList(ConfigCondition, 128);

/** Reached version of an operator: its own as `operator`, those of operands by name. */
export const OperandVersion = z.looseObject({ name: z.string(), version: z.string() });
export type OperandVersion = z.output<typeof OperandVersion>;

/** Object of an operator; an empty name means all of the resource. */
export const RelatedObject = z.looseObject({
  group: z.string(),
  resource: z.string(),
  namespace: z.string().optional(),
  name: z.string().default(''),
});
export type RelatedObject = z.output<typeof RelatedObject>;

/** Report of an operator. It is valid only as a whole; unreadable parts are absent. */
export const ClusterOperatorStatus = z.looseObject({
  conditions: configConditions,
  versions: readableList(OperandVersion, 256),
  relatedObjects: readableList(RelatedObject, 10_000),
  extension: z.unknown().optional(),
});
export type ClusterOperatorStatus = z.output<typeof ClusterOperatorStatus>;

const OperatorSchema = KubeObject.extend({ spec: readable(z.looseObject({})), status: readable(ClusterOperatorStatus) });
/** Health of an operator of the cluster (spec/cvo 6). Cluster-scoped. */
export type ClusterOperator = z.output<typeof OperatorSchema>;
export const ClusterOperator = resource('config.openshift.io/v1', 'ClusterOperator', 'clusteroperators', false, OperatorSchema);

/** A release in update graphs and status. */
export const Release = z.looseObject({
  version: z.string().default(''),
  image: z.string().default(''),
  url: z.string().optional(),
  /** `Multi`, or absent. */
  architecture: z.string().optional(),
  channels: z.array(z.string()).optional(),
});
export type Release = z.output<typeof Release>;

/** Release that an admin requests (spec/cvo 5.8). */
const DesiredUpdate = z.looseObject({
  architecture: z.string().optional(),
  version: z.string().optional(),
  image: z.string().optional(),
  force: z.boolean().optional(),
  /** Behind a feature gate: accepted risks. */
  acceptRisks: z.array(z.looseObject({ name: z.string() })).optional(),
});

/** Object that somebody else manages (spec/cvo 5.10). */
export const ComponentOverride = z.looseObject({
  kind: z.string(),
  group: z.string(),
  namespace: z.string(),
  name: z.string(),
  unmanaged: z.boolean(),
});
export type ComponentOverride = z.output<typeof ComponentOverride>;

/** Version settings of an admin. */
export const ClusterVersionSpec = z.looseObject({
  clusterID: z.string().default(''),
  desiredUpdate: DesiredUpdate.nullish(),
  /** Update-graph service; empty for the default one. */
  upstream: z.string().optional(),
  channel: z.string().optional(),
  signatureStores: z.array(z.looseObject({ url: z.string(), ca: z.looseObject({ name: z.string() }).optional() })).nullish(),
  capabilities: z
    .looseObject({
      baselineCapabilitySet: z.string().optional(),
      additionalEnabledCapabilities: z.array(z.string()).nullish(),
    })
    .nullish(),
  overrides: z.array(ComponentOverride).nullish(),
});
export type ClusterVersionSpec = z.output<typeof ClusterVersionSpec>;

/** One update of the cluster; the newest stands first (spec/cvo 5.5). */
export const UpdateHistory = z.looseObject({
  /** Completed, or Partial. */
  state: z.string().default(''),
  startedTime: z.string().default(''),
  completionTime: z.string().nullish(),
  version: z.string().default(''),
  image: z.string().default(''),
  verified: z.boolean().default(false),
  acceptedRisks: z.string().optional(),
});
export type UpdateHistory = z.output<typeof UpdateHistory>;

/** Risk of an update, and the clusters it concerns (spec/cvo 5.7). */
export const ConditionalUpdateRisk = z.looseObject({
  url: z.string().default(''),
  name: z.string(),
  message: z.string().default(''),
  matchingRules: z.array(z.looseObject({ type: z.string(), promql: z.looseObject({ promql: z.string() }).optional() })).default([]),
  conditions: configConditions,
});
export type ConditionalUpdateRisk = z.output<typeof ConditionalUpdateRisk>;

/** Update that is recommended for this cluster only without matching risks. */
export const ConditionalUpdate = z.looseObject({
  release: Release,
  risks: z.array(ConditionalUpdateRisk).default([]),
  /** Behind a feature gate: names of the risks. */
  riskNames: z.array(z.string()).optional(),
  conditions: configConditions,
});
export type ConditionalUpdate = z.output<typeof ConditionalUpdate>;

/** Status of the cluster's version. Its writer may be another operator, so unreadable parts are absent. */
export const ClusterVersionStatus = z.looseObject({
  desired: readable(Release),
  history: readableList(UpdateHistory, 1_000),
  observedGeneration: readable(z.number()),
  versionHash: readable(z.string()),
  capabilities: readable(
    z.looseObject({ enabledCapabilities: z.array(z.string()).nullish(), knownCapabilities: z.array(z.string()).nullish() }),
  ),
  conditions: configConditions,
  /** Null without known updates. */
  availableUpdates: foreign(z.array(Release)).nullish().catch(undefined),
  conditionalUpdates: readableList(ConditionalUpdate, 1_000),
  /** Behind a feature gate: all risks of these updates, without repetition. */
  conditionalUpdateRisks: readableList(ConditionalUpdateRisk, 1_000),
});
export type ClusterVersionStatus = z.output<typeof ClusterVersionStatus>;

const VersionSchema = KubeObject.extend({ spec: ClusterVersionSpec, status: ClusterVersionStatus.optional() });
/** Current and desired version of a cluster (spec/cvo 5). Cluster-scoped; there is one, named `version`. */
export type ClusterVersion = z.output<typeof VersionSchema>;
export const ClusterVersion = resource('config.openshift.io/v1', 'ClusterVersion', 'clusterversions', false, VersionSchema);

const GateNames = readableList(z.looseObject({ name: z.string() }), 5_000);
const FeatureGateSchema = KubeObject.extend({
  spec: readable(z.looseObject({ featureSet: z.string().default('') })),
  status: readable(
    z.looseObject({ featureGates: readableList(z.looseObject({ version: z.string(), enabled: GateNames, disabled: GateNames }), 1_000) }),
  ),
});
/** Feature set of the cluster, and the enabled gates of each release (spec/cvo 1.5). */
export type FeatureGate = z.output<typeof FeatureGateSchema>;
export const FeatureGate = resource('config.openshift.io/v1', 'FeatureGate', 'featuregates', false, FeatureGateSchema);

const ProxySchema = KubeObject.extend({
  status: readable(
    z.looseObject({ httpProxy: z.string().default(''), httpsProxy: z.string().default(''), noProxy: z.string().default('') }),
  ),
});
/** Proxy of the cluster's own components (spec/cvo 3.7). */
export type ClusterProxy = z.output<typeof ProxySchema>;
export const ClusterProxy = resource('config.openshift.io/v1', 'Proxy', 'proxies', false, ProxySchema);

const InfrastructureSchema = KubeObject.extend({
  status: readable(
    z.looseObject({
      /** URL of the API server for components of the cluster. */
      apiServerInternalURI: z.string().default(''),
      controlPlaneTopology: z.string().default(''),
    }),
  ),
});
/** Infrastructure of the cluster (spec/cvo 3.7, 4.1). */
export type Infrastructure = z.output<typeof InfrastructureSchema>;
export const Infrastructure = resource('config.openshift.io/v1', 'Infrastructure', 'infrastructures', false, InfrastructureSchema);

const ApiServerSchema = KubeObject.extend({
  spec: readable(
    z.looseObject({
      tlsSecurityProfile: z
        .looseObject({
          /** Old, Intermediate, Modern or Custom. */
          type: z.string().default(''),
          custom: z.looseObject({ ciphers: z.array(z.string()).default([]), minTLSVersion: z.string().default('') }).nullish(),
        })
        .nullish(),
    }),
  ),
});
/** Configuration of the cluster's API server, with its TLS profile (spec/cvo 3.7). */
export type APIServer = z.output<typeof ApiServerSchema>;
export const APIServer = resource('config.openshift.io/v1', 'APIServer', 'apiservers', false, ApiServerSchema);
