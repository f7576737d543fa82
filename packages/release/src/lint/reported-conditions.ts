import { objectAt, objectsAt, textAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import { isClusterOperator } from './cluster-operators.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource, type ManifestFinding } from './source.ts';

interface Reported {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const needed = ['Available', 'Progressing', 'Degraded'] as const;

/** Checks the conditions of a ClusterOperator on a cluster, where it reports any (spec/cvo 6). */
export function* checkReportedConditions(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests.filter(isClusterOperator)) {
    const conditions = conditionsOf(manifest);
    if (conditions.length > 0) for (const finding of findingsOf(conditions)) yield findingAt(source, manifest, finding);
  }
}

function* findingsOf(conditions: readonly Reported[]): Generator<ManifestFinding> {
  for (const type of needed)
    if (!conditions.some((one) => one.type === type))
      yield {
        rule: 'CO-6',
        message: `reports no ${type}, which counts as ${type === 'Available' ? 'not available' : type.toLowerCase()}`,
        near: ['conditions'],
      };
  for (const condition of conditions) yield* findingsOfOne(condition);
}

function* findingsOfOne({ type, status, reason, message }: Reported): Generator<ManifestFinding> {
  const near = [`type: ${type}`, `"${type}"`];
  const warn = (rule: 'CO-8' | 'CO-10' | 'CO-12' | 'CO-13', text: string): ManifestFinding => ({
    level: 'warning',
    rule,
    message: `${type}=${status} ${text}`,
    near,
  });
  if (reason === '' || message === '')
    yield warn('CO-12', `has no ${reason === '' ? 'reason' : 'message'}; when all is well AsExpected is common`);
  if (message === '') return;
  if (/^\p{Ll}/u.test(message)) yield warn('CO-13', 'has a message that does not begin with a capital');
  if (type === 'Available' && (message.endsWith('.') || message.includes('\n')))
    yield warn('CO-13', 'has a message that is more than one sentence without a full stop');
  if (type === 'Progressing' && status === 'True' && !/\d\.\d/.test(message)) yield warn('CO-8', 'has a message that names no version');
  if (type === 'Upgradeable' && status === 'False' && message.split(/\s+/).length < 4)
    yield warn('CO-10', 'has a message that does not say what to do');
}

function conditionsOf({ object: { status } }: Manifest): Reported[] {
  return objectsAt(objectAt(status).conditions).map((one) => ({
    type: textAt(one.type),
    status: textAt(one.status),
    reason: textAt(one.reason),
    message: textAt(one.message),
  }));
}
