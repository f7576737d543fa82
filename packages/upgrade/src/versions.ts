import { FlotillaError } from '@flotilla/api';

/** A version by semver.org, without a leading `v`. */
interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Identifiers after `-`; empty for a release. */
  readonly prerelease: readonly string[];
}

const refuse = (why: string) => new FlotillaError('FLOTILLA_VERSION_INVALID', why);

function numberOf(text: string, what: string): number {
  if (!/^\d+$/.test(text)) throw refuse(`Invalid character(s) found in ${what} number "${text}"`);
  if (text.length > 1 && text.startsWith('0'))
    throw refuse(`${what.replace(/^./, (letter) => letter.toUpperCase())} number must not contain leading zeroes "${text}"`);
  return Number(text);
}

/** Parses a version strictly; throws in the words of the reference's library, because they appear in conditions (spec/muo 4.3). */
export function parseVersion(text: string): Version {
  if (text === '') throw refuse('Version string empty');
  const [major, minor, rest] = splitThree(text);
  if (major === undefined || minor === undefined || rest === undefined) throw refuse('No Major.Minor.Patch elements found');
  const [core = '', build] = splitAt(rest, '+');
  const [patch = '', prerelease] = splitAt(core, '-');
  const version = { major: numberOf(major, 'major'), minor: numberOf(minor, 'minor'), patch: numberOf(patch, 'patch') };
  const identifiers = prerelease?.split('.') ?? [];
  for (const identifier of identifiers) checkIdentifier(identifier, 'prerelease', 'Prerelease is empty');
  for (const identifier of build?.split('.') ?? []) checkIdentifier(identifier, 'build meta data', 'Build meta data is empty');
  const padded = identifiers.find((identifier) => /^0\d+$/.test(identifier));
  if (padded) throw refuse(`Numeric PreRelease version must not contain leading zeroes "${padded}"`);
  return { ...version, prerelease: identifiers };
}

function splitThree(text: string): readonly (string | undefined)[] {
  const [major, minor, ...rest] = text.split('.');
  return [major, minor, rest.length > 0 ? rest.join('.') : undefined];
}

function splitAt(text: string, sign: string): readonly (string | undefined)[] {
  const at = text.indexOf(sign);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function checkIdentifier(identifier: string, what: string, whenEmpty: string): void {
  if (identifier === '') throw refuse(whenEmpty);
  if (!/^[0-9A-Za-z-]+$/.test(identifier)) throw refuse(`Invalid character(s) found in ${what} "${identifier}"`);
}

/** Orders versions; below zero when the first is older. */
export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePrereleases(a.prerelease, b.prerelease);
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [one, other] = [a[at], b[at]];
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
    const order = compareIdentifiers(one, other);
    if (order !== 0) return order;
  }
  return 0;
}

function compareIdentifiers(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber && isOtherNumber) return Number(one) - Number(other);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Tells whether an upgrade changes the minor version (`y`) or not (`z`); spec/muo 2.2. */
export function streamOf(from: string, to: string): 'y' | 'z' | 'unknown' {
  const minor = (version: string) => {
    const [major = '', second = '', ...rest] = version.split('.');
    return rest.length > 0 && /\d$/.test(major) && /^\d+$/.test(second) ? second : undefined;
  };
  const [before, after] = [minor(from), minor(to)];
  if (before === undefined || after === undefined) return 'unknown';
  return before === after ? 'z' : 'y';
}
