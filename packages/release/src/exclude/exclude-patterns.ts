import { errorMessage } from '@flotilla/api';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';

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

/** States of one expression: counted before it is compiled, so that no count blows up memory or time. */
const MAX_STATES = 2_000;

interface BasicRegex {
  /** States of the automaton, about: the bound on the work per character. */
  readonly size: number;
  /** Looks for a match anywhere in the line, in time linear in states times characters, whatever the expression. */
  test(line: string): boolean;
}

/**
 * Compiles a POSIX basic regular expression with GNU's additions (`\+`, `\?`, `\|`, `\w`, `\<`, …) as `grep -G` reads it in a locale whose letters
 * are those of ASCII.
 * @throws Error saying what is wrong with the expression; back-references are not supported
 */
function compileBasicRegex(source: string): BasicRegex {
  const { text, size } = translate(source);
  try {
    const expression = RE2JS.compile(text, RE2JS.DOTALL | RE2JS.LOOKBEHINDS);
    return { size, test: (line) => expression.matcher(line).find() };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) throw new Error(`has an ${error.getDescription()}: ${error.getPattern()}`);
    throw error;
  }
}

/** A part of an expression of RE2 that a repetition takes as one. */
interface Atom {
  readonly text: string;
  readonly size: number;
  /** False for places in the line and between alternatives: behind them `*` is itself. */
  readonly repeatable: boolean;
}

const token = /\\\{(?<min>\d*)(?<comma>,?)(?<max>\d*)\\\}|\[\^?\]?(?:\[:[a-z]+:\]|[^\]])*\]|\\?./gsu;
const places: Readonly<Record<string, string>> = {
  '\\<': '\\b(?<!\\w)',
  '\\>': '\\b(?<=\\w)',
  '\\b': '\\b',
  '\\B': '\\B',
  '\\`': '\\A',
  "\\'": '\\z',
  '\\|': '|',
};
const repetitions: Readonly<Record<string, string>> = { '*': '*', '\\+': '+', '\\?': '?' };

/** Writes an expression as RE2 reads it. */
function translate(source: string): Atom {
  const open: Atom[][] = [[]];
  const tokens = [...source.matchAll(token)];
  for (const [index, { 0: part, groups }] of tokens.entries()) {
    const atoms = open.at(-1) ?? [];
    const last = atoms.at(-1);
    if (part === '\\(') open.push([]);
    else if (part === '\\)') closeGroup(open);
    else if (last?.repeatable && (part in repetitions || part.startsWith('\\{'))) atoms.splice(-1, 1, repeated(last, part, groups));
    else atoms.push(atomOf(part, last, tokens[index + 1]?.[0]));
  }
  const [whole, ...unclosed] = open.map(joined);
  if (!whole || unclosed.length > 0) throw new Error('has \\( without \\)');
  if (whole.size > MAX_STATES) throw new Error(`is too large (more than ${MAX_STATES} states); use smaller \\{m,n\\} counts`);
  return whole;
}

function closeGroup(open: Atom[][]): void {
  const inner = open.pop() ?? [];
  const outer = open.at(-1);
  if (!outer) throw new Error('has \\) without \\(');
  outer.push(joined(inner));
}

/** `^` and `$` are themselves but at an end of the expression, of a group or of an alternative. */
function atomOf(part: string, last: Atom | undefined, next = ''): Atom {
  const isAnchor = part === '^' ? !last || last.text === '|' : part === '$' && ['', '\\|', '\\)'].includes(next);
  const place = isAnchor ? part : places[part];
  return { text: place ?? characterOf(part), size: 1, repeatable: place === undefined };
}

const joined = (atoms: readonly Atom[]): Atom => ({
  text: `(?:${atoms.map(({ text }) => text).join('')})`,
  size: atoms.reduce((sum, { size }) => sum + size, 1),
  repeatable: true,
});

function repeated({ text, size }: Atom, part: string, count: Record<string, string> | undefined): Atom {
  const simple = repetitions[part];
  if (simple) return { text: `(?:${text})${simple}`, size: size + 1, repeatable: true };
  const { min = '', comma = '', max = '' } = count ?? {};
  if (!min && !comma) throw new Error('has \\{ without a count such as \\{1,3\\}');
  const times = Math.max(Number(min) + 1, Number(max));
  return { text: `(?:${text}){${min || 0}${comma}${max}}`, size: size * times + 1, repeatable: true };
}

/** One character, or a class of them; a backslash is itself inside brackets. */
function characterOf(part: string): string {
  if (part === '\\') throw new Error('ends with a backslash');
  if (part === '[') throw new Error('has [ without ]');
  if (/^\\[1-9]/.test(part)) throw new Error(`has the back-reference ${part}, which is not supported`);
  if (part === '.' || /^\\[wWsS]$/.test(part)) return part;
  if (!part.startsWith('[')) return RE2JS.quote(part.replaceAll('\\', ''));
  if (/\[[.=]/.test(part)) throw new Error('has a collating element ([. .] or [= =]), which is not supported');
  return `[${part.slice(1, -1).replaceAll(/\[:[a-z]+:\]|[\\[\]]/g, (found) => (found.length > 1 ? found : `\\${found}`))}]`;
}
