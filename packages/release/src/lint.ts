export { type Finding, type FindingLevel, type LintRule, lintRules } from './lint/finding.ts';
export { lintClusterOperatorFile, lintPayload } from './lint/lint-payload.ts';
