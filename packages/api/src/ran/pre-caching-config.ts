import { z } from 'zod';
import { image, list, text } from '../bounded.ts';
import { KubeObject, resource } from '../kubernetes.ts';

/** Overrides of what the policies say should be pre-cached (spec/talm 1.3), within limits (see `limitsOf`). */
export const PreCachingConfigSpec = z.object({
  overrides: z
    .object({
      platformImage: image().optional().describe('Release image, instead of the one the policies name.'),
      operatorsIndexes: list(image(), 1_000).optional().describe('Operator index images, instead of those the policies name.'),
      operatorsPackagesAndChannels: list(text(1024), 10_000)
        .optional()
        .describe('package:channel entries, instead of those the policies name.'),
      preCacheImage: image().optional().describe('Image of the pre-caching workload, instead of the configured one.'),
    })
    .optional()
    .describe('Values that replace derived ones; they are never merged.'),
  spaceRequired: text(64).optional().describe('Free space each cluster must have, for example 35 GiB; default 35 GiB.'),
  excludePrecachePatterns: list(text(1024), 10_000)
    .optional()
    .describe('Basic regular expressions; release images that match are left out.'),
  additionalImages: list(image(), 10_000).optional().describe('Further images to pre-cache.'),
});
export type PreCachingConfigSpec = z.output<typeof PreCachingConfigSpec>;

const Schema = KubeObject.extend({ spec: PreCachingConfigSpec.optional() });
/** Overrides for pre-caching, referenced by ClusterGroupUpgrades. */
export type PreCachingConfig = z.output<typeof Schema>;
export const PreCachingConfig = resource('ran.openshift.io/v1alpha1', 'PreCachingConfig', 'precachingconfigs', true, Schema);
