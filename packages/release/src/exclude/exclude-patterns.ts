import { errorMessage } from '@flotilla/api';
import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { compileBasicRegex } from './basic-regex.ts';

/** Limits of `excludePrecachePatterns`. */
export const excludePatternLimits = { patterns: 1_000, length: 1_024, states: 20_000 } as const;

/** Decides which images are left out. */
export interface ExcludePatterns {
  /** True when any pattern matches `name$pullSpec` (spec/talm 4.3: name and pull spec together, unanchored). */
  readonly excludes: (image: { readonly name: string; readonly pullSpec: string }) => boolean;
}

/**
 * Compiles exclude patterns: POSIX basic regular expressions as `grep -G` reads them. Blank lines count as absent.
 * @throws ReleaseError `FLOTILLA_EXCLUDE_PATTERN_INVALID` naming the pattern
 */
export function compileExcludePatterns(patterns: readonly string[]): ExcludePatterns {
  const wanted = [...new Set(patterns.map((pattern) => pattern.trim()))].filter((pattern) => pattern !== '');
  if (wanted.length > excludePatternLimits.patterns)
    throw new ReleaseError(
      ReleaseErrorCode.patternInvalid,
      `excludePrecachePatterns has ${wanted.length} patterns, at most ${excludePatternLimits.patterns} are allowed`,
    );
  const compiled: ReturnType<typeof compileBasicRegex>[] = [];
  let states = 0;
  for (const pattern of wanted) {
    const regex = compilePattern(pattern);
    states += regex.size;
    if (states > excludePatternLimits.states)
      throw new ReleaseError(
        ReleaseErrorCode.patternInvalid,
        'excludePrecachePatterns: the patterns are too large together; use fewer or shorter ones',
      );
    compiled.push(regex);
  }
  return { excludes: ({ name, pullSpec }) => compiled.some((regex) => regex.test(`${name}$${pullSpec}`)) };
}

function compilePattern(pattern: string): ReturnType<typeof compileBasicRegex> {
  const invalid = (why: string, cause?: unknown): ReleaseError =>
    new ReleaseError(
      ReleaseErrorCode.patternInvalid,
      `excludePrecachePatterns: the pattern ${quoted(pattern)} ${why}; patterns are POSIX basic regular expressions (grep -G)`,
      { cause },
    );
  if (pattern.length > excludePatternLimits.length) throw invalid(`has more than ${excludePatternLimits.length} characters`);
  try {
    return compileBasicRegex(pattern);
  } catch (cause) {
    throw invalid(errorMessage(cause), cause);
  }
}
