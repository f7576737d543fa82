import { z } from 'zod';
import { Figure } from './figure.ts';

const Share = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  clusters: z.int().describe('How many of its clusters.'),
});

const group = {
  label: z.string().optional().describe('Label of its clusters; absent: all clusters.'),
  value: z.string().optional().describe('Value of the label; empty for clusters without it.'),
};

/** A limit of the fleet, and the clusters that share it. */
export const LimitUse = z.object({
  activity: z.enum(['pulling', 'upgrading']).describe('What clusters do.'),
  ...group,
  most: z.int().describe('Clusters that may at a time.'),
  taken: z.int().describe('Clusters that have a place: more than may where the limit was lowered.'),
  waiting: z.int().describe('Clusters under it that wait for a place, here or under another limit.'),
  holders: z.array(Share).describe('Upgrades whose clusters have the places, the most first.'),
  waiters: z.array(Share).describe('Upgrades whose clusters wait, in the order of their turns.'),
});
export type LimitUse = z.output<typeof LimitUse>;

/** A limit of bytes a second, and the clusters that share it. */
export const RateUse = z.object({
  ...group,
  most: z.int().describe('Bytes a second that all pulls under it may take together.'),
  taken: Figure.describe('Bytes a second that their pullers reported last.'),
  pullers: z.array(Share).describe('Upgrades whose clusters pull, the most first.'),
});
export type RateUse = z.output<typeof RateUse>;

/** The limits of the fleet as they are used. */
export const LimitsAnswer = z.object({
  configMap: z.string().describe('The ConfigMap, namespace/name.'),
  isThere: z.boolean().describe('There is one.'),
  problem: z.string().optional().describe('Why it cannot be used, and the next step; the hub goes on with the last one that could.'),
  limits: z.array(LimitUse).describe('Each limit of clusters; of those by label each value that a cluster or the ConfigMap has.'),
  rates: z.array(RateUse).describe('Each limit of bytes a second, by the same labels.'),
  notes: z.array(z.string()).describe('What was not looked at, and what is odd.'),
});
export type LimitsAnswer = z.output<typeof LimitsAnswer>;

/** A limit as a row of the console: what `flotilla limits` answers, as far as a page shows it. */
const LimitRow = z.object({
  clusters: z.string().describe('The clusters that it is for, in words.'),
  may: z.string().describe('What they may do under it, in words.'),
  isRate: z.boolean().describe('It is one of bytes a second.'),
  most: z.int().describe('Places, or bytes a second.'),
  taken: Figure.describe('Those that are taken.'),
  waiting: z.int().describe('Clusters that wait for a place.'),
  holders: z.array(Share).describe('The first upgrades that have the places.'),
  moreHolders: z.int().describe('Others that have some.'),
  waiters: z.array(Share).describe('Upgrades whose turns come first.'),
  moreWaiters: z.int().describe('Others that wait.'),
});
export type LimitRow = z.output<typeof LimitRow>;

/** The limits of the fleet as the console shows them. */
export const LimitsLane = z.object({
  rows: z.array(LimitRow).describe('Those of all clusters, then those by label, the ones that hold back most first.'),
  more: z.int().describe('Limits that are left out.'),
  problem: z.string().nullable().describe('Why the ConfigMap cannot be used, and the next step; null where it can.'),
  unknown: z.string().nullable().describe('Why nobody can tell; null where it could be read.'),
  notes: z.array(z.string()).describe('What is odd.'),
});
export type LimitsLane = z.output<typeof LimitsLane>;
