/** A semantic version; build metadata is dropped, as it takes no part in the order. */
export interface Version {
  readonly numbers: readonly [number, number, number];
  readonly prerelease: readonly string[];
}

const versionShape = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]{1,100})?$/;
/** Three numbers without leading zeros, a pre-release, a build. */
const strictShape =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** Parses a semantic version; undefined when it is none. */
export function parseVersion(text: string): Version | undefined {
  const found = versionShape.exec(text.trim());
  if (!found) return undefined;
  return { numbers: [Number(found[1]), Number(found[2]), Number(found[3])], prerelease: found[4]?.split('.') ?? [] };
}

/** True for a semantic version to the letter: no blanks, no leading zeros. */
export const isStrictVersion = (text: string): boolean => text.length <= 256 && strictShape.test(text);

/** Parses a release's version, which must be one to the letter; undefined when it is not. */
export const parseStrictVersion = (text: string): Version | undefined => (isStrictVersion(text) ? parseVersion(text) : undefined);

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

/** The largest number in which two versions differ; undefined when they differ in the patch number at most. */
export function differenceOf({ numbers: a }: Version, { numbers: b }: Version): 'major' | 'minor' | undefined {
  if (a[0] !== b[0]) return 'major';
  return a[1] === b[1] ? undefined : 'minor';
}

/** Which step up it is from one version to another; undefined when it is none, or one within the minor version. */
export function stepUp(from: Version, to: Version): 'major' | 'minor' | undefined {
  return compareVersions(from, to) < 0 ? differenceOf(from, to) : undefined;
}
