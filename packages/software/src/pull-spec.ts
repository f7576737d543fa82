import { TerminalError } from '@flotilla/api';
import { DEFAULT_SPACE_REQUIRED, PrecacheSpecKey } from '@flotilla/api/ran';
import { isPullSpecShaped, type PackageChannel, parsePackageChannel } from '@flotilla/release';

/** Codes of refused specs; those of the registry client and of packages/release pass through. */
export const SoftwareErrorCode = {
  /** A key of the ConfigMap is missing, too large or malformed. */
  specInvalid: 'FLOTILLA_PULLER_SPEC_INVALID',
  /** An image of the spec contradicts its key: no release image, no operator index. */
  imageUnsuitable: 'FLOTILLA_PULLER_IMAGE_UNSUITABLE',
} as const;

/** The spec, or an image in it, is invalid. */
export class SpecError extends TerminalError {}

/** Images to pull, as ConfigMap `pre-cache-spec` lists them (spec/talm 3.5). */
export interface PullSpec {
  readonly platformImage: string | undefined;
  readonly operatorIndexes: readonly string[];
  readonly packages: readonly PackageChannel[];
  readonly excludePatterns: readonly string[];
  readonly additionalImages: readonly string[];
  /** Bound of the whole pre-cache in GiB; undefined when not given. */
  readonly spaceRequiredGiB: number | undefined;
}

/** Most lines of one key. */
const MAX_LINES = 10_000;

type Key = (typeof PrecacheSpecKey)[keyof typeof PrecacheSpecKey];

/**
 * Parses the keys of the ConfigMap, each a text of lines. Final newlines, blank lines, surrounding blanks, carriage returns and repetitions do not
 * matter. An absent key counts as empty.
 * @throws SpecError `FLOTILLA_PULLER_SPEC_INVALID` naming the key and the line
 */
export function parsePullSpec(keys: Readonly<Partial<Record<Key, string>>>): PullSpec {
  const lines = (key: Key): string[] => linesOf(key, keys[key] ?? '');
  const spec: PullSpec = {
    platformImage: single(PrecacheSpecKey.platformImage, images(PrecacheSpecKey.platformImage, lines)),
    operatorIndexes: images(PrecacheSpecKey.operatorsIndexes, lines),
    packages: lines(PrecacheSpecKey.operatorsPackagesAndChannels).map(parsePackage),
    excludePatterns: lines(PrecacheSpecKey.excludePrecachePatterns),
    additionalImages: images(PrecacheSpecKey.additionalImages, lines),
    spaceRequiredGiB: undefined,
  };
  const space = single(PrecacheSpecKey.spaceRequired, lines(PrecacheSpecKey.spaceRequired));
  if (spec.operatorIndexes.length > 0 && spec.packages.length === 0)
    throw refuse(
      PrecacheSpecKey.operatorsPackagesAndChannels,
      'is empty, but operators.indexes is not; name a package:channel or no index',
    );
  if (!spec.platformImage && spec.operatorIndexes.length === 0 && spec.additionalImages.length === 0)
    throw refuse(PrecacheSpecKey.platformImage, 'is empty, and so are operators.indexes and additionalImages; there is nothing to pull');
  // A strict hub writes its default for operators alone too, where the reference measures nothing.
  const isUnasked = space === DEFAULT_SPACE_REQUIRED && !spec.platformImage && spec.additionalImages.length === 0;
  return { ...spec, spaceRequiredGiB: isUnasked ? undefined : parseSpace(space) };
}

/** Builds the error of an invalid key. */
export function refuse(key: string, why: string, cause?: unknown): SpecError {
  return new SpecError(SoftwareErrorCode.specInvalid, `pre-cache-spec key ${key} ${why}`, { cause });
}

function linesOf(key: Key, value: string): string[] {
  const lines = value
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length > MAX_LINES) throw refuse(key, `has ${lines.length} lines, at most ${MAX_LINES} are allowed`);
  return [...new Set(lines)];
}

function images(key: Key, lines: (key: Key) => string[]): string[] {
  return lines(key).map((line) => {
    if (!isPullSpecShaped(line))
      throw refuse(key, `has the line ${shown(line)}, which is no pull spec; write host/repository:tag or host/repository@sha256:…`);
    return line;
  });
}

function single(key: Key, lines: readonly string[]): string | undefined {
  if (lines.length > 1) throw refuse(key, `has ${lines.length} different lines, only one is allowed`);
  return lines[0];
}

function parsePackage(line: string): PackageChannel {
  const found = parsePackageChannel(line);
  if (!found) throw refuse(PrecacheSpecKey.operatorsPackagesAndChannels, `has the line ${shown(line)}; write package:channel`);
  return found;
}

/** Parses GiB as a plain number; the hub writes integers, and fractions are accepted too. */
function parseSpace(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const found = /^(\d{1,9}(?:\.\d{1,9})?)(?: ?GiB)?$/.exec(value);
  if (!found) throw refuse(PrecacheSpecKey.spaceRequired, `has the value ${shown(value)}; write a number of GiB such as 35`);
  return Number(found[1]);
}

const shown = (line: string): string => JSON.stringify(line.length > 120 ? `${line.slice(0, 117)}...` : line);
