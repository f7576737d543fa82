import { errorMessage } from '@flotilla/api';
import type { PayloadFile } from '../payload/layout.ts';
import { type Manifest, parseManifests } from '../payload/manifest.ts';
import { checkAnnotations } from './annotations.ts';
import { checkClusterOperators, isClusterOperator } from './cluster-operators.ts';
import { checkDuplicates, checkEntries } from './entries.ts';
import { checkKinds } from './kinds.ts';
import { checkOrder } from './order.ts';
import { checkOwners } from './owners.ts';
import { readSource } from './read-source.ts';
import { checkReportedConditions } from './reported-conditions.ts';
import { type Finding, inOrderOfFiles, type LintCheck } from './source.ts';
import { checkUndeclared } from './undeclared.ts';
import { checkKeys, checkNumbers, checkSizes } from './values.ts';

const payloadChecks: readonly LintCheck[] = [
  checkAnnotations,
  checkDuplicates,
  checkEntries,
  checkKinds,
  checkOrder,
  checkKeys,
  checkNumbers,
  checkOwners,
  checkSizes,
  checkUndeclared,
  checkClusterOperators,
];

/** Finds the mistakes in a payload, by file and line. Nothing in it is refused: an unreadable part is a finding. Pure. */
export async function lintPayload(files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>): Promise<Finding[]> {
  const { source, findings } = await readSource(files);
  return inOrderOfFiles([...findings, ...payloadChecks.flatMap((check) => [...check(source)])]);
}

/** Finds the mistakes in the ClusterOperators of one file, as a payload holds them or a cluster shows them. Pure. */
export function lintClusterOperatorFile({ path, content }: PayloadFile): Finding[] {
  let manifests: Manifest[];
  try {
    manifests = parseManifests(path, content);
  } catch (error) {
    const message = errorMessage(error);
    return [{ level: 'error', rule: 'manifest', file: path, line: Number(/\bline (\d+)/.exec(message)?.[1] ?? 1), message }];
  }
  const source = { manifests, texts: new Map([[path, new TextDecoder().decode(content)]]), version: undefined };
  if (!manifests.some(isClusterOperator))
    return [{ level: 'error', rule: 'manifest', file: path, line: 1, message: 'the file holds no ClusterOperator of config.openshift.io' }];
  return inOrderOfFiles([
    ...checkOwners(source),
    ...checkSizes(source),
    ...checkClusterOperators(source),
    ...checkReportedConditions(source),
  ]);
}
