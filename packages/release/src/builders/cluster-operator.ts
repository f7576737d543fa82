import { saidText } from '../errors.ts';
import { UpdateError } from '../graph/update-error.ts';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { type Builder, type Judging, type ObjectVerdict, ready } from './builder.ts';
import { merged } from './merge.ts';
import { conditionOf } from './rollout.ts';

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

/** Expectations of a payload of one operator. */
export interface ExpectedOperator {
  readonly name: string;
  /** `status.versions` of its manifest. */
  readonly versions: readonly { readonly name: string; readonly version: string }[];
  /** `status.relatedObjects` of its manifest: whoever collects diagnostics looks there from the first moment. */
  readonly relatedObjects: readonly Json[];
}

/** Reads the expectations from the manifest of a ClusterOperator. */
export function expectedOperator(manifest: Json): ExpectedOperator {
  const status = objectAt(manifest.status);
  return {
    name: textAt(objectAt(manifest.metadata).name),
    versions: objectsAt(status.versions).map(({ name, version }) => ({ name: textAt(name), version: textAt(version) })),
    // the kind demands them; what a manifest leaves out is an empty text to the reference's client
    relatedObjects: objectsAt(status.relatedObjects).map((related) => ({ group: '', resource: '', name: '', ...related })),
  };
}

/** Judges an operator: the first check that fails, in this order, decides. */
export function judgeOperator(live: Json, { name, versions }: ExpectedOperator, { state, degradedBlocks }: Judging): ObjectVerdict {
  const status = objectAt(live.status);
  const isInstalling = state === 'Initializing';
  const [available, progressing, degraded] = ['Available', 'Progressing', 'Degraded'].map((type) => conditionOf(status, type));
  const error = (reason: string, { what, effect, by }: { what: string; effect: UpdateError['effect']; by?: Json | undefined }) => {
    const said = saidIn(by);
    const message = `Cluster operator ${name} ${what}${said === '' ? '' : `: ${said}`}`;
    return new UpdateError({ reason, message, effect, names: [name], said });
  };
  if (versions.length === 0)
    return { is: 'failed', error: error('ClusterOperatorNoVersions', { what: 'does not declare expected versions', effect: 'Fail' }) };
  if (available?.status !== 'True')
    return { is: 'failed', error: error('ClusterOperatorNotAvailable', { what: 'is not available', effect: 'Fail', by: available }) };
  const isDegraded = degraded?.status !== 'False';
  const degradation = (effect: UpdateError['effect']) => error('ClusterOperatorDegraded', { what: 'is degraded', effect, by: degraded });
  if (isDegraded && !isInstalling && degradedBlocks)
    return { is: 'failed', error: degradation(state === 'Reconciling' ? 'Fail' : 'FailAfterInterval') };
  if (!isInstalling && !hasReached(status, versions))
    return { is: 'waiting', error: error('ClusterOperatorUpdating', { what: 'is updating versions', effect: 'None', by: progressing }) };
  return isDegraded ? { is: 'reported', error: degradation(isInstalling ? 'Report' : 'FailAfterInterval') } : ready;
}

const hasReached = (status: Json, wanted: ExpectedOperator['versions']): boolean =>
  wanted.every(({ name, version }) => objectsAt(status.versions).some((one) => one.name === name && one.version === version));

const MOST_SAID = 512;

const saidIn = (condition: Json | undefined): string =>
  saidText(
    [condition?.reason, condition?.message]
      .map(textAt)
      .filter((text) => text !== '')
      .join(': '),
    MOST_SAID,
  );
