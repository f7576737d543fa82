/** The identity of an upgrade, and the labels that mark an object on the hub as its (spec/talm 2.12, 2.13). Pure. */
import { createHash } from 'node:crypto';
import { type KubeObject, Label, type Ref } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';

/** Namespace and name of an upgrade. */
export type UpgradeRef = Required<Ref>;

/** The upgrade an object belongs to. */
export interface UpgradeIdentity extends UpgradeRef {
  readonly uid: string;
}

/** An upgrade as labels name it. */
export const identityOf = ({ metadata }: ClusterGroupUpgrade): UpgradeIdentity => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid ?? '',
});

/** Labels of an object that one kind of work creates for an upgrade. @param work value of `flotilla.io/work` */
export const workLabels = ({ namespace, name, uid }: UpgradeIdentity, work: string): Record<string, string> => ({
  [Label.upgradeName]: labelValue(name),
  [Label.upgradeNamespace]: labelValue(namespace),
  [Label.upgradeUid]: uid,
  [Label.work]: work,
});

const LABEL_LENGTH = 63;
const DIGEST_LENGTH = 8;

/** A text as a label value: itself, or its beginning and a digest when it is longer than the 63 characters a label may have. */
export function labelValue(text: string): string {
  if (text.length <= LABEL_LENGTH) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
  return `${text.slice(0, LABEL_LENGTH - DIGEST_LENGTH - 1)}-${digest}`;
}

/** Value of `flotilla.io/work` on every ManifestWork, action and view of a rollout. */
export const ROLLOUT_WORK = 'rollout';

/** Labels of a rollout's ManifestWorks and views. */
export const upgradeLabels = (upgrade: UpgradeIdentity): Record<string, string> => workLabels(upgrade, ROLLOUT_WORK);

/** Labels of a rollout's actions: the reference gives one label, `<namespace>-<name>` (spec/talm 2.13). */
export const actionLabels = ({ namespace, name, uid }: UpgradeIdentity): Record<string, string> => ({
  [Label.upgradeName]: actionOwner({ namespace, name }),
  [Label.upgradeUid]: uid,
  [Label.work]: ROLLOUT_WORK,
});

/** True for what this very upgrade created. */
export const isOurs = ({ metadata }: KubeObject, { uid }: UpgradeIdentity): boolean => metadata.labels?.[Label.upgradeUid] === uid;

/**
 * True for what the labels attribute to an upgrade of this name: created by this one, by an earlier one of the same name, or by
 * the reference, which writes no uid.
 */
export const isAttributed = ({ metadata }: KubeObject, { namespace, name }: UpgradeIdentity): boolean =>
  metadata.labels?.[Label.upgradeName] === labelValue(name) && metadata.labels[Label.upgradeNamespace] === labelValue(namespace);

/** True for what the reference created for an upgrade of this name. */
export const isReferences = (object: KubeObject, upgrade: UpgradeIdentity): boolean =>
  object.metadata.labels?.[Label.upgradeUid] === undefined && isAttributed(object, upgrade);

/** Value of the reference's one label on actions: `<namespace>-<name>` of the upgrade. */
const actionOwner = ({ namespace, name }: UpgradeRef): string => labelValue(`${namespace}-${name}`);

/** The same as an index of objects has it (`upgradeIndexOf`), which looks for two labels. */
export const actionIndexValue = (upgrade: UpgradeRef): string => `/${actionOwner(upgrade)}`;

/** True for an action that the reference made for an upgrade of this name. It names no uid, and fires whenever its cluster is back. */
export const isReferencesAction = ({ metadata }: KubeObject, upgrade: UpgradeIdentity): boolean =>
  metadata.labels?.[Label.upgradeUid] === undefined &&
  metadata.labels?.[Label.upgradeNamespace] === undefined &&
  metadata.labels?.[Label.upgradeName] === actionOwner(upgrade);
