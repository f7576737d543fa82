import { quoted } from '../errors.ts';
import type { ManifestId } from '../payload/manifest.ts';

/** Feature sets that a manifest may name, in order. */
export const featureSets = ['CustomNoUpgrade', 'Default', 'DevPreviewNoUpgrade', 'OKD', 'TechPreviewNoUpgrade'] as const;
const known: readonly string[] = featureSets;

/** Why a manifest is not for a feature set. Its list has no blanks between the names. */
export function featureSetRefusal(annotation: string, value: string, wanted: string): string | undefined {
  const listed = value.split(',');
  const unknown = listed.find((name) => !known.includes(name));
  if (unknown !== undefined) return `unrecognized value ${quoted(unknown)} in ${annotation}=${value}; known values are: ${known.join(',')}`;
  const name = wanted === '' ? 'Default' : wanted;
  return listed.includes(name) ? undefined : `${quoted(name)} is required, and ${annotation}=${[...new Set(listed)].sort().join(',')}`;
}

/** Why a manifest is not for a set of feature gates: all that it names must be on, those with a `-` off. */
export function featureGateRefusal(value: string, enabled: ReadonlySet<string>): string | undefined {
  for (const entry of value.split(',')) {
    const gate = entry.trim();
    if (gate.startsWith('-')) {
      if (enabled.has(gate.slice(1))) return `feature gate ${gate.slice(1)} is enabled but manifest requires it to be disabled`;
    } else if (!enabled.has(gate)) return `feature gate ${gate} is required but not enabled`;
  }
  return undefined;
}

/** Why a manifest is not for a major version: it lists those it is for, and with a `-` those it is not for. */
export function majorVersionRefusal({ group, kind }: ManifestId, annotation: string, value: string, wanted: number): string | undefined {
  const isAllowed =
    (group === 'config.openshift.io' && kind === 'FeatureGate') ||
    (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition');
  if (!isAllowed) return `${annotation} is only allowed on FeatureGate and CustomResourceDefinition, not on ${kind}`;
  const entries = value.split(',').map((entry) => entry.trim());
  const wrong = entries.find((entry) => !/^-?\d{1,15}$/.test(entry));
  if (wrong !== undefined) return `invalid major version ${quoted(wrong)} in ${annotation}=${value}`;
  const versions = (isExcluded: boolean) =>
    new Set(entries.filter((entry) => entry.startsWith('-') === isExcluded).map((entry) => Math.abs(Number(entry))));
  return refusal(versions(false), versions(true), wanted, `${annotation}=${value}`);
}

function refusal(included: ReadonlySet<number>, excluded: ReadonlySet<number>, wanted: number, list: string): string | undefined {
  const both = [...included].filter((version) => excluded.has(version));
  if (both.length > 0) return `major version ${both.join(', ')} is both included and excluded in ${list}`;
  if (included.has(wanted)) return undefined;
  if (excluded.has(wanted)) return `major version ${wanted} is excluded by ${list}`;
  return included.size > 0 ? `major version ${wanted} is not included in ${list}` : undefined;
}
