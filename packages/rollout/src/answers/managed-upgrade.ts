/** The managed upgrade of a spoke, as far as the feedback of a ManifestWork shows it on the hub. Pure. */
import type { ManifestWork } from '@flotilla/api/ocm';

/** One value that the work reports of an UpgradeConfig or a ClusterVersion. */
interface ManagedLine {
  readonly says: string;
  readonly field: string;
  readonly value: string;
}

const KINDS = new Set(['UpgradeConfig', 'ClusterVersion']);
/** Values of one work that are shown. */
const MOST_LINES = 6;

/** What the work says of the upgrade below it; empty where it carries none. */
export function managedUpgradeOf({ status }: ManifestWork): ManagedLine[] {
  const manifests = (status?.resourceStatus?.manifests ?? []).filter(({ resourceMeta }) => KINDS.has(resourceMeta.kind ?? ''));
  return manifests
    .flatMap(({ resourceMeta, statusFeedback }) =>
      (statusFeedback?.values ?? []).map(({ name, fieldValue }) => {
        const value = String(fieldValue.string ?? fieldValue.integer ?? fieldValue.boolean ?? fieldValue.jsonRaw ?? '');
        const field = `status.resourceStatus.manifests[${resourceMeta.ordinal}].statusFeedback.values[${name}]`;
        return { says: `${resourceMeta.kind} ${name}: ${value}`, field, value };
      }),
    )
    .slice(0, MOST_LINES);
}
