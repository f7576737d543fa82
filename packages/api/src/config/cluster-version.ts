import { z } from 'zod';
import { foreign } from '../foreign.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { readable, readableList } from '../readable.ts';
import { configConditions } from './conditions.ts';

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

const Schema = KubeObject.extend({ spec: ClusterVersionSpec, status: ClusterVersionStatus.optional() });
/** Current and desired version of a cluster (spec/cvo 5). Cluster-scoped; there is one, named `version`. */
export type ClusterVersion = z.output<typeof Schema>;
export const ClusterVersion = resource('config.openshift.io/v1', 'ClusterVersion', 'clusterversions', false, Schema);
