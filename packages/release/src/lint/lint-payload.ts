import { errorMessage } from '@flotilla/api';
import { quoted } from '../errors.ts';
import { type PayloadFile, PayloadPath, type PayloadProblem } from '../payload/layout.ts';
import { type Manifest, parseManifests } from '../payload/manifest.ts';
import { lineOf, readPayload } from '../payload/payload.ts';
import { checkAnnotations } from './annotations.ts';
import { checkClusterOperators, isClusterOperator } from './cluster-operators.ts';
import { checkDuplicates, checkEntries } from './entries.ts';
import { checkKinds } from './kinds.ts';
import { checkOrder } from './order.ts';
import { checkOwners } from './owners.ts';
import { checkReportedConditions } from './reported-conditions.ts';
import { type Finding, inOrderOfFiles, type LintCheck, type LintSource } from './source.ts';
import { checkUndeclared } from './undeclared.ts';
import { checkKeys, checkNumbers, checkSizes } from './values.ts';

export type { Finding } from './source.ts';

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

const VALUES = { releaseImage: 'the payload', clusterProfile: 'self-managed-high-availability' };

/** Reads as much of a payload as can be read; what cannot becomes a finding. */
async function readSource(
  given: Iterable<PayloadFile> | AsyncIterable<PayloadFile>,
): Promise<{ readonly source: LintSource; readonly findings: readonly Finding[] }> {
  const problems: PayloadProblem[] = [];
  const { files, manifests, release, imageReferences, images } = await readPayload(given, {
    ...VALUES,
    onProblem: (problem) => problems.push(problem),
  });
  const texts = new Map(files.map(({ path, content }) => [path, textOf(content)]));
  const references = imageReferences === undefined ? [] : [...texts].flatMap(([path, text]) => unknownImages(path, text, images));
  const findings = [...problems, ...references].map((problem) => findingOf(problem, texts.get(problem.path) ?? ''));
  return { source: { manifests, texts, version: release?.version }, findings };
}

function findingOf({ level, rule, path: file, message, line = lineIn(message) }: PayloadProblem, text: string): Finding {
  const at = { level, file, line };
  if (rule === 'template' && level === 'warning') return { ...at, rule, message: `the file is passed over: ${message}` };
  if (rule !== 'manifest') return { ...at, rule, message };
  const told = `${message}; a payload with it is not loaded`;
  const isDouble = message.startsWith('duplicate resource');
  return isDouble ? { ...at, rule: 'duplicate', line: secondLineOf(text, message), message: told } : { ...at, rule, message: told };
}

function unknownImages(path: string, text: string, images: ReadonlyMap<string, string>): PayloadProblem[] {
  if (!path.startsWith(`${PayloadPath.own}/`)) return [];
  const named = text.matchAll(/\{\{-?\s*(?:index\s+\.Images\s+"([^"\\]*)"|\.Images\.([\w.]+))/g);
  return [...named].flatMap(([near, quotedName, plainName]): PayloadProblem[] => {
    const name = quotedName ?? plainName ?? '';
    const message = `the template names the image ${quoted(name)}, which image-references has not`;
    return images.has(name) ? [] : [{ level: 'error', rule: 'template', path, message, line: lineOf(text, near) }];
  });
}

const textOf = (content: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);

const lineIn = (message: string): number => Number(/\bline (\d+)/.exec(message)?.[1] ?? 1);

/** Line of the second place that names the object a message is about. */
function secondLineOf(text: string, message: string): number {
  const name = /Name: ("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  if (name === undefined) return 1;
  const bare = name.slice(1, -1);
  const places = text.split('\n').flatMap((line, index) => (line.includes('name') && line.includes(bare) ? [index + 1] : []));
  return places[1] ?? places[0] ?? 1;
}
