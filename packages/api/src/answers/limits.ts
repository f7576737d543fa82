import { z } from 'zod';

const Share = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  clusters: z.int().describe('How many of its clusters.'),
});

/** A limit of the fleet, and the clusters that share it. */
export const LimitUse = z.object({
  activity: z.enum(['pulling', 'upgrading']).describe('What clusters do.'),
  label: z.string().optional().describe('Label of its clusters; absent: all clusters.'),
  value: z.string().optional().describe('Value of the label; empty for clusters without it.'),
  most: z.int().describe('Clusters that may at a time.'),
  taken: z.int().describe('Clusters that have a place: more than may where the limit was lowered.'),
  waiting: z.int().describe('Clusters under it that wait for a place, here or under another limit.'),
  holders: z.array(Share).describe('Upgrades whose clusters have the places, the most first.'),
  waiters: z.array(Share).describe('Upgrades whose clusters wait, the most first.'),
});
export type LimitUse = z.output<typeof LimitUse>;

/** The limits of the fleet as they are used. */
export const LimitsAnswer = z.object({
  configMap: z.string().describe('The ConfigMap, namespace/name.'),
  isThere: z.boolean().describe('There is one.'),
  problem: z.string().optional().describe('Why it cannot be used; the hub goes on with the last one that could.'),
  limits: z.array(LimitUse).describe('Each limit; of those by label each value that a cluster or the ConfigMap has.'),
  notes: z.array(z.string()).describe('What was not looked at, and what is odd.'),
});
export type LimitsAnswer = z.output<typeof LimitsAnswer>;
