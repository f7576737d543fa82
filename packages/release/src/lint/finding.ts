/** Name of what is looked at; docs/cli.md says what each asks for. */
export type LintRule =
  | (
      | 'layout'
      | 'metadata'
      | 'template'
      | 'manifest'
      | 'duplicate'
      | 'annotation'
      | 'kind'
      | 'version'
      | 'order'
      | 'key'
      | 'entry'
      | 'field'
      | 'number'
    )
  | ('owner' | 'size' | 'CO-1' | 'CO-2' | 'CO-6' | 'CO-8' | 'CO-10' | 'CO-12' | 'CO-13' | 'CO-14' | 'CO-16');

/** An error makes a payload fail or wait for ever, on some cluster; a warning is likely no intention. */
export type FindingLevel = 'error' | 'warning';

/** Something wrong in a payload. */
export interface Finding {
  readonly level: FindingLevel;
  readonly rule: LintRule;
  /** From the payload's root; of what is not in a file, the file that should be there. */
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Findings by file and line. */
export const inOrderOfFiles = (findings: Iterable<Finding>): Finding[] =>
  [...findings].sort((a, b) => compare(a.file, b.file) || a.line - b.line || compare(a.rule, b.rule) || compare(a.message, b.message));

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);
