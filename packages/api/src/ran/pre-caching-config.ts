import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';

/** Overrides of what the policies say should be pre-cached (spec/talm 1.3). */
export const PreCachingConfigSpec = z.object({
  overrides: z
    .object({
      platformImage: z.string().optional().describe('Release image, instead of the one the policies name.'),
      operatorsIndexes: z.array(z.string()).optional().describe('Operator index images, instead of those the policies name.'),
      operatorsPackagesAndChannels: z.array(z.string()).optional().describe('package:channel entries, instead of those the policies name.'),
      preCacheImage: z.string().optional().describe('Image of the pre-caching workload, instead of the configured one.'),
    })
    .optional()
    .describe('Values that replace derived ones; they are never merged.'),
  spaceRequired: z.string().optional().describe('Free space each cluster must have, for example 35 GiB; default 35 GiB.'),
  excludePrecachePatterns: z.array(z.string()).optional().describe('Basic regular expressions; release images that match are left out.'),
  additionalImages: z.array(z.string()).optional().describe('Further images to pre-cache.'),
});
export type PreCachingConfigSpec = z.output<typeof PreCachingConfigSpec>;

const Schema = KubeObject.extend({ spec: PreCachingConfigSpec.optional() });
/** Overrides for pre-caching, referenced by ClusterGroupUpgrades. */
export type PreCachingConfig = z.output<typeof Schema>;
export const PreCachingConfig = resource('ran.openshift.io/v1alpha1', 'PreCachingConfig', 'precachingconfigs', true, Schema);
