import { quoted } from '../errors.ts';

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
