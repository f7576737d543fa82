/** A semantic version; build metadata is dropped, as it takes no part in the order. */
export interface Version {
  readonly numbers: readonly [number, number, number];
  readonly prerelease: readonly string[];
}

const versionShape = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]{1,100})?$/;

/** Parses a semantic version; undefined when it is none. */
export function parseVersion(text: string): Version | undefined {
  const found = versionShape.exec(text.trim());
  if (!found) return undefined;
  return { numbers: [Number(found[1]), Number(found[2]), Number(found[3])], prerelease: found[4]?.split('.') ?? [] };
}

/** Negative when `a` is older than `b`; the order of semver.org. */
export function compareVersions(a: Version, b: Version): number {
  for (const [i, number] of a.numbers.entries()) if (number !== b.numbers[i]) return number - (b.numbers[i] ?? 0);
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return b.prerelease.length - a.prerelease.length;
  for (const [i, part] of a.prerelease.entries()) {
    const other = b.prerelease[i];
    if (other === undefined) return 1;
    if (part !== other) return compareIdentifiers(part, other);
  }
  return a.prerelease.length - b.prerelease.length;
}

function compareIdentifiers(a: string, b: string): number {
  const numeric = [a, b].map((part) => /^\d+$/.test(part));
  if (numeric[0] && numeric[1]) return Number(a) - Number(b);
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1;
  return a < b ? -1 : 1;
}

/**
 * Whether a version lies in a range as `skipRange` writes it: comparisons joined by blanks (all must hold), alternatives
 * joined by `||`. A range that cannot be read contains nothing.
 */
export function isInRange(version: Version, range: string): boolean {
  if (range.length > 1_024) return false;
  return range.split('||').some((alternative) => {
    // blanks after an operator belong to it: `>= 1.0.0`
    const comparisons = alternative
      .replaceAll(/(?<![<>=!])([<>=!]+)\s+/g, '$1')
      .trim()
      .split(/\s+/);
    return comparisons[0] !== '' && comparisons.every((comparison) => isHeld(version, comparison));
  });
}

function isHeld(version: Version, comparison: string): boolean {
  const found = /^(>=|<=|==|!=|>|<|=|!|)(.+)$/.exec(comparison);
  const other = parseVersion(found?.[2] ?? '');
  if (!found || !other) return false;
  const order = compareVersions(version, other);
  switch (found[1] ?? '') {
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '!':
    case '!=':
      return order !== 0;
    default:
      return order === 0;
  }
}
