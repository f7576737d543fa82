/** What is looked at, by the name a finding carries. */
const lintRules = {
  layout: 'files are there, once, and not too large',
  metadata: 'release-metadata and image-references say what they must, and the same version',
  template: 'templates name what a release fills in',
  manifest: 'every document is an object with kind and name',
  duplicate: 'no cluster takes two manifests of the same object',
  annotation: 'annotations that decide have values that mean something',
  kind: 'kinds are known to Kubernetes or brought by the payload, and in a namespace where they need one',
  version: 'Kubernetes still serves the versions of its own kinds',
  order: 'namespaces and definitions of kinds come before what needs them',
  key: 'no key stands twice in one object',
  number: 'integers are small enough to reach a cluster as they are written',
  owner: 'owners are complete and do not own one another',
  size: 'objects fit into an API server',
  'CO-1': 'a ClusterOperator has a spec and lists versions',
  'CO-2': 'a ClusterOperator lists the version `operator`, that of the release',
  'CO-6': 'a ClusterOperator reports Available, Progressing and Degraded',
  'CO-8': 'Progressing says to which version',
  'CO-10': 'Upgradeable=False says what to do',
  'CO-12': 'conditions have a reason and a message, happy ones too',
  'CO-13': 'messages begin with a capital and have the length that is read',
  'CO-14': 'relatedObjects are complete: a namespace and one more object',
  'CO-16': 'a ClusterOperator comes after the workload that reports it',
} as const;
/** Name of what is looked at. */
export type LintRule = keyof typeof lintRules;

/** An error makes a payload fail or wait for ever, on some cluster; a warning is likely no intention. */
export type FindingLevel = 'error' | 'warning';

/** Something wrong in a payload. */
export interface Finding {
  readonly level: FindingLevel;
  readonly rule: LintRule;
  /** From the payload's root; of what is not in a file, the file that should be there. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** Findings by file and line. */
export const inOrderOfFiles = (findings: Iterable<Finding>): Finding[] =>
  [...findings].sort((a, b) => compare(a.file, b.file) || a.line - b.line || compare(a.rule, b.rule) || compare(a.message, b.message));

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);
