import { compareVersions, parseVersion, type Version } from '../semantic-version.ts';

/**
 * True for a version in a range as `skipRange` writes it: comparisons joined by blanks (all must hold), alternatives
 * joined by `||`. An unreadable comparison holds for no version.
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
