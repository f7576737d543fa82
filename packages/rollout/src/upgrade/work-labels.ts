/** Labels that mark an object on the hub as part of one kind of work for an upgrade. Pure. */
import { createHash } from 'node:crypto';
import { Label } from '@flotilla/api';
import type { UpgradeIdentity } from './identity.ts';

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
