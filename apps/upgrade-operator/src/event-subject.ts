import { UpgradeConfig } from '@flotilla/api/managed';
import type { EventSubject } from '@flotilla/runtime';

/** An UpgradeConfig as events are about it. */
export function subjectOf({ metadata: { namespace, name, uid, resourceVersion } }: UpgradeConfig): EventSubject {
  const { apiVersion, kind } = UpgradeConfig;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
