import { refKey } from '@flotilla/api';
import type { Manifest } from '../payload/manifest.ts';
import type { Finding, FindingLevel, LintRule } from './finding.ts';

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
