import { z } from 'zod';
import { LEAST_BANDWIDTH, MOST_BANDWIDTH } from './pre-caching-config.ts';

/** ConfigMap of the fleet's limits, in the hub's namespace, and its one key. */
export const FleetLimitsName = { configMap: 'flotilla-limits', key: 'limits.yaml' } as const;

/** Something that clusters do, of which a limit says how many may at a time. */
export const LimitedActivity = z.enum(['pulling', 'upgrading']);
export type LimitedActivity = z.output<typeof LimitedActivity>;

const Places = z.int().min(1).max(100_000);
const Limits = {
  pulling: Places.optional().describe('Clusters that pre-cache at a time, at most.'),
  upgrading: Places.optional().describe('Clusters whose part in a rollout is under way at a time, at most.'),
  bytesPerSecond: z.int().min(LEAST_BANDWIDTH).max(MOST_BANDWIDTH).optional().describe('Bytes a second that all pulls take, at most.'),
};

/** Name of a label, with or without a prefix. */
const LabelKey = z
  .string()
  .regex(/^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/, 'is no label');
const LabelValue = z.string().regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/, 'is no value of a label');

/** Limits of the clusters of each value of a label; clusters without the label share the value `''`. */
const LabelLimits = z.strictObject({
  label: LabelKey.describe('Label of ManagedClusters.'),
  ...Limits,
  values: z.record(LabelValue, z.strictObject(Limits)).optional().describe('Limits of single values, which win over the others.'),
});

/** Limits of the fleet over all upgrades. One that is absent does not limit. */
export const FleetLimits = z.strictObject({
  ...Limits,
  byLabel: z.array(LabelLimits).max(16).optional().describe('Limits by the value of a cluster label.'),
});
export type FleetLimits = z.output<typeof FleetLimits>;
