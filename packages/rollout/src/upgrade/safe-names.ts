/** Names of hub objects that are long enough to tell and short enough to be taken (spec/talm 2.8). Pure. */
import { createHash } from 'node:crypto';
import { Annotation } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';

/** Longest name of an object. */
const MAX_NAME = 253;
/** Longest name of a Placement: the placement controller makes it the value of a label. */
const MAX_PLACEMENT_NAME = 63;
const HASH_LENGTH = 5;
/** A suffix up to this length stands in every name as it is. */
const MAX_KEPT_SUFFIX = 40;

/**
 * `base-suffix`, where the base is the desired name cut so that namespace and name together stay within 253 characters, without
 * trailing characters that are neither letters, digits nor dashes.
 * @param namespace namespace the object lives in; empty for names that are the same on every cluster
 */
export function safeName(desired: string, namespace: string, suffix: string): string {
  const room = Math.max(MAX_NAME - suffix.length - namespace.length - 1, 0);
  const base = desired.slice(0, room).replace(/(?<![^a-zA-Z0-9-])[^a-zA-Z0-9-]+$/, '');
  return `${base}-${suffix}`;
}

/**
 * The suffix of an upgrade's names: its annotation, else five characters that follow from its uid and the desired name. Not random:
 * whoever creates the object again after a crash, before the name was stored, gets the same one.
 */
export function nameSuffix({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>, desired: string): string {
  const given = metadata.annotations?.[Annotation.nameSuffix];
  if (given) return given;
  return hashOf(`${metadata.uid}/${desired}`);
}

/** Five characters that follow from a text. */
function hashOf(text: string): string {
  const digest = createHash('sha256').update(text).digest();
  return BigInt(`0x${digest.subarray(0, 8).toString('hex')}`)
    .toString(36)
    .slice(-HASH_LENGTH)
    .padStart(HASH_LENGTH, '0');
}

/** Key of `status.safeResourceNames`, and value of the annotation `rname`: `<namespace>/<desired>`. */
export const safeNameKey = (desired: string, namespace: string): string => `${namespace}/${desired}`;

/** The name of an object of the upgrade: the one stored in its status, else the one it will get. */
export function resourceName(upgrade: Pick<ClusterGroupUpgrade, 'metadata' | 'status'>, desired: string, namespace: string): string {
  const stored = upgrade.status?.safeResourceNames?.[safeNameKey(desired, namespace)];
  return stored ?? safeName(desired, namespace, nameSuffix(upgrade, desired));
}

/** Desired name of a policy's Placement and PlacementBinding, which live in the policy's namespace. */
export const desiredPlacementName = (upgrade: string, policy: string): string => `${upgrade}-${policy}-placement`.toLowerCase();

/** Desired name of a template's ManifestWork: the same on every cluster, so its key in the status has an empty namespace. */
export const desiredWorkName = (upgradeNamespace: string, template: string): string => `${upgradeNamespace}.${template}`;

/**
 * Name of a policy's Placement and PlacementBinding: `resourceName`, or where that has more than 63 characters the beginning of the desired
 * name, a hash of it, and the suffix. A longer one in the status was never selected by anybody and is left.
 * @param talmStrict the reference's literal name, though the placement controller selects nobody for one over 63 characters
 */
export function placementName(
  upgrade: Pick<ClusterGroupUpgrade, 'metadata' | 'status'>,
  policy: Readonly<Record<'name' | 'namespace', string>>,
  talmStrict = false,
): string {
  const desired = desiredPlacementName(upgrade.metadata.name, policy.name);
  const whole = resourceName(upgrade, desired, policy.namespace);
  if (talmStrict || whole.length <= MAX_PLACEMENT_NAME) return whole;
  const suffix = nameSuffix(upgrade, desired);
  const end = `-${hashOf(desired)}-${suffix.length > MAX_KEPT_SUFFIX ? hashOf(suffix) : suffix}`;
  const base = desired.slice(0, MAX_PLACEMENT_NAME - end.length).replace(/(?<![^a-zA-Z0-9])[^a-zA-Z0-9]+$/, '');
  return `${base}${end}`;
}
