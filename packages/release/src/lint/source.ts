import { refKey } from '@flotilla/api';
import type { Manifest } from '../payload/manifest.ts';

/** A payload as far as it can be read. */
export interface LintSource {
  readonly manifests: readonly Manifest[];
  readonly texts: ReadonlyMap<string, string>;
  /** Version of the release; undefined when it says none that can be used. */
  readonly version: string | undefined;
}

/** Looks at a payload. */
export type LintCheck = (source: LintSource) => Iterable<Finding>;

/** Parts of a finding about a manifest; `findingAt` adds its place. */
export interface ManifestFinding {
  readonly level?: FindingLevel;
  readonly rule: LintRule;
  readonly message: string;
  /** Texts that lead to the line: the first line behind the manifest's beginning with one of them, looked for in this order. */
  readonly near?: readonly string[];
}

/** A finding about a manifest, at the line it is about. */
export function findingAt(source: LintSource, manifest: Manifest, { level = 'error', rule, message, near = [] }: ManifestFinding): Finding {
  return {
    level,
    rule,
    file: manifest.file,
    line: lineNear(source, manifest, near),
    message: `${manifest.kind} ${refKey(manifest)}: ${message}`,
  };
}

function lineNear({ texts, manifests }: LintSource, manifest: Manifest, near: readonly string[]): number {
  const lines = texts.get(manifest.file)?.split('\n') ?? [];
  const next = manifests.find(({ file, line }) => file === manifest.file && line > manifest.line);
  const end = next ? next.line - 1 : lines.length;
  for (const text of near) {
    const at = lines.slice(manifest.line - 1, end).findIndex((line) => line.includes(text));
    if (at >= 0) return manifest.line + at;
  }
  return manifest.line;
}

/** Name of what is looked at; docs/cli.md says what each asks for. */
type LintRule =
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
type FindingLevel = 'error' | 'warning';

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
