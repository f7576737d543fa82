import { UpdateError } from '../graph/update-error.ts';
import { type Builder, type Judging, type ObjectVerdict, ready } from './builder.ts';
import { merged } from './merged.ts';
import { conditionOf } from './rollout.ts';
import { type Json, objectAt, objectsAt, textAt } from './values.ts';

/**
 * ClusterOperators (spec/cvo 3.9): made ahead of the rest of their node, and then their operator's; what is enforced is their metadata.
 * They are judged by what their manifest expects (`judgeOperator`).
 */
export const clusterOperator: Builder = merged(() => ({}), {
  build: (manifest) => {
    const { apiVersion, kind, metadata } = manifest;
    return { apiVersion, kind, metadata, spec: {} };
  },
});

/** What a payload expects of an operator. */
export interface ExpectedOperator {
  readonly name: string;
  /** `status.versions` of its manifest. */
  readonly versions: readonly { readonly name: string; readonly version: string }[];
  /** `status.relatedObjects` of its manifest: whoever collects diagnostics looks there from the first moment. */
  readonly relatedObjects: readonly Json[];
}

/** What the manifest of a ClusterOperator expects. */
export function expectedOperator(manifest: Json): ExpectedOperator {
  const status = objectAt(manifest.status);
  return {
    name: textAt(objectAt(manifest.metadata).name),
    versions: objectsAt(status.versions).map(({ name, version }) => ({ name: textAt(name), version: textAt(version) })),
    // the kind demands them; what a manifest leaves out is an empty text to the reference's client
    relatedObjects: objectsAt(status.relatedObjects).map((related) => ({ group: '', resource: '', name: '', ...related })),
  };
}

/** How far an operator is: asked in this order, the first that is not as it should be decides. */
export function judgeOperator(live: Json, { name, versions }: ExpectedOperator, { state, degradedBlocks }: Judging): ObjectVerdict {
  const status = objectAt(live.status);
  const isInstalling = state === 'Initializing';
  const [available, progressing, degraded] = ['Available', 'Progressing', 'Degraded'].map((type) => conditionOf(status, type));
  const nested = nestedText(name, { available, progressing, degraded });
  const error = (reason: string, what: string, effect: UpdateError['effect']) =>
    new UpdateError({ reason, message: `Cluster operator ${name} ${what}`, effect, names: [name], cause: new Error(nested) });
  if (versions.length === 0)
    return { is: 'failed', error: error('ClusterOperatorNoVersions', 'does not declare expected versions', 'Fail') };
  if (available?.status !== 'True') return { is: 'failed', error: error('ClusterOperatorNotAvailable', 'is not available', 'Fail') };
  const isDegraded = degraded?.status !== 'False';
  if (isDegraded && !isInstalling && degradedBlocks)
    return { is: 'failed', error: error('ClusterOperatorDegraded', 'is degraded', 'FailAfterInterval') };
  if (!isInstalling && !hasReached(status, versions))
    return { is: 'waiting', error: error('ClusterOperatorUpdating', 'is updating versions', 'None') };
  return isDegraded ? { is: 'reported', error: error('ClusterOperatorDegraded', 'is degraded', 'Report') } : ready;
}

const hasReached = (status: Json, wanted: ExpectedOperator['versions']): boolean =>
  wanted.every(({ name, version }) => objectsAt(status.versions).some((one) => one.name === name && one.version === version));

function nestedText(name: string, conditions: Readonly<Record<'available' | 'progressing' | 'degraded', Json | undefined>>): string {
  const { available, degraded } = conditions;
  const text = (condition: Json | undefined) => textAt(condition?.status) || 'Unknown';
  if (available?.status !== 'True' && textAt(available?.message) !== '')
    return `cluster operator ${name} is Available=${text(available)}: ${textAt(available?.reason)}: ${textAt(available?.message)}`;
  if (degraded?.status !== 'False' && textAt(degraded?.message) !== '')
    return `cluster operator ${name} is Degraded=${text(degraded)}: ${textAt(degraded?.reason)}, ${textAt(degraded?.message)}`;
  if (available?.status === 'True' && degraded?.status === 'False')
    return `cluster operator ${name} is available and not degraded but has not finished updating to target version`;
  return `cluster operator ${name}: available=${text(available)}, progressing=${text(conditions.progressing)}, degraded=${text(degraded)}`;
}
