/** An upgrade that tries failed clusters again pulls what was pulled before, or nothing. Pure. */
import { Annotation, isSameJson, refOfKey } from '@flotilla/api';
import { type ClusterGroupUpgrade, explain, type PrecachingSpec, precacheSpecData } from '@flotilla/api/ran';
import type { UpgradeRef } from '../upgrade/identity.ts';
import type { SoftwareFailure } from './software-spec.ts';

const LISTS = ['operatorsIndexes', 'operatorsPackagesAndChannels', 'additionalImages', 'excludePrecachePatterns'] as const;

/** Why a retry would not pull the images of the upgrade that it repeats; undefined also where that one is gone, and cannot be compared. */
export function findOtherSoftware(
  { metadata }: ClusterGroupUpgrade,
  wanted: PrecachingSpec,
  upgradeAt: (ref: UpgradeRef) => ClusterGroupUpgrade | undefined,
): SoftwareFailure | undefined {
  const key = metadata.annotations?.[Annotation.retryOf] ?? '';
  const { namespace = '', name } = refOfKey(key);
  // Another namespace may be another tenant's.
  const first = namespace === metadata.namespace ? upgradeAt({ namespace, name })?.status?.precaching?.spec : undefined;
  const field = first && findDifference(first, wanted);
  if (field === undefined) return undefined;
  const said = `${field} is ${shown(wanted[field])}, and was ${shown(first?.[field])} in ${key}, which it tries again`;
  return { reason: 'RetryDiffers', message: explain('RetryDiffers', said), transient: false };
}

/** True when both have the same pulled, whatever the order of their lists. An empty field is an absent one. */
export function isSameSoftware(one: PrecachingSpec, other: PrecachingSpec): boolean {
  const lines = (spec: PrecachingSpec) => Object.values(precacheSpecData(spec)).map((text) => text.split('\n').toSorted());
  return isSameJson(lines(one), lines(other));
}

function findDifference(first: PrecachingSpec, wanted: PrecachingSpec): 'platformImage' | (typeof LISTS)[number] | undefined {
  if ((first.platformImage ?? '') !== (wanted.platformImage ?? '')) return 'platformImage';
  return LISTS.find((field) => !isSameJson((first[field] ?? []).toSorted(), (wanted[field] ?? []).toSorted()));
}

/** A list may have hundreds of images. */
const shown = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : value === undefined
      ? 'nothing'
      : `${value.length} ${value.length === 1 ? 'entry' : 'entries'}`;
