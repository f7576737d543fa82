import { z } from 'zod';
import { image, list, text } from '../bounded.ts';
import { KubeObject, resource } from '../kubernetes.ts';

/** Overrides of the pre-caching that policies ask for (spec/talm 1.3), within limits (see `limitsOf`). */
export const PreCachingConfigSpec = z.object({
  overrides: z
    .object({
      platformImage: image().optional().describe('Release image, instead of the one the policies name.'),
      operatorsIndexes: list(image(), 1_000).optional().describe('Operator index images, instead of those the policies name.'),
      operatorsPackagesAndChannels: list(text(1024), 10_000)
        .optional()
        .describe('package:channel entries, or package for its default channel, instead of those the policies name.'),
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

/** Images of an upgrade, from policies and overrides (spec/talm 1.2, 3.2, 3.3). */
export const PrecachingSpec = z.object({
  platformImage: z.string().optional().describe('Release image to pre-cache.'),
  operatorsIndexes: z.array(z.string()).optional().describe('Operator index images.'),
  operatorsPackagesAndChannels: z
    .array(z.string())
    .optional()
    .describe('package:channel entries to pre-cache from the indexes; package alone: its default channel.'),
  excludePrecachePatterns: z.array(z.string()).optional().describe('Basic regular expressions; release images that match are left out.'),
  spaceRequired: z.string().optional().describe('Free space each cluster must have, in GiB.'),
  additionalImages: z.array(z.string()).optional().describe('Further images to pre-cache.'),
});
export type PrecachingSpec = z.output<typeof PrecachingSpec>;

/** Keys of ConfigMap `pre-cache-spec`, one for each field: all always present, newline-joined (spec/talm 3.5). */
export const PrecacheSpecKey = {
  operatorsIndexes: 'operators.indexes',
  operatorsPackagesAndChannels: 'operators.packagesAndChannels',
  excludePrecachePatterns: 'excludePrecachePatterns',
  additionalImages: 'additionalImages',
  platformImage: 'platform.image',
  spaceRequired: 'spaceRequired',
} as const satisfies Record<keyof PrecachingSpec, string>;

/** Builds the data of that ConfigMap: every key present, joined by newlines, without a final newline. Digests depend on its order. */
export function precacheSpecData(spec: PrecachingSpec): Record<string, string> {
  const fields = Object.entries(PrecacheSpecKey) as [keyof PrecachingSpec, string][];
  return Object.fromEntries(fields.map(([field, key]) => [key, [spec[field] ?? []].flat().join('\n')]));
}

const Schema = KubeObject.extend({ spec: PreCachingConfigSpec.optional() });
/** Overrides for pre-caching, referenced by ClusterGroupUpgrades. */
export type PreCachingConfig = z.output<typeof Schema>;
export const PreCachingConfig = resource('ran.openshift.io/v1alpha1', 'PreCachingConfig', 'precachingconfigs', true, Schema);
