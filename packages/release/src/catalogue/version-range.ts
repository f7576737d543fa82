import { cmp, type Operator } from 'semver';
import { parseVersion, type Version } from '../semantic-version.ts';

/**
 * True for a version in a range as `skipRange` writes it: comparisons joined by blanks (all must hold), alternatives
 * joined by `||`. An unreadable comparison holds for no version; those of npm's ranges (`~`, `^`, a missing number) are unreadable, as for OLM.
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
  const [, operator = '', text = ''] = /^(>=|<=|==|!=|>|<|=|!|)(.+)$/.exec(comparison) ?? [];
  const other = parseVersion(text);
  return other !== undefined && cmp(version, (operator === '!' ? '!=' : operator) as Operator, other);
}
