import { compare, parse, type SemVer } from 'semver';

/** A semantic version. Builds take no part in the order. */
export type Version = SemVer;

/** Parses a semantic version to the letter, so without blanks around it or a `v` before it; undefined when it is none. */
export const parseVersion = (text: string): Version | undefined => (/^\d\S*$/.test(text) && parse(text)) || undefined;

/** The largest number in which two versions differ; undefined when they differ in the patch number at most. */
export function differenceOf(a: Version, b: Version): 'major' | 'minor' | undefined {
  if (a.major !== b.major) return 'major';
  return a.minor === b.minor ? undefined : 'minor';
}

/** Which step up it is from one version to another; undefined when it is none, or one within the minor version. */
export function stepUp(from: Version, to: Version): 'major' | 'minor' | undefined {
  return compare(from, to) < 0 ? differenceOf(from, to) : undefined;
}
