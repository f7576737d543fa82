/** Commands of `flotilla` that documents show and messages advise. Pure. */

/** A command line with its arguments, as the program would get them. */
export interface CommandLine {
  readonly line: string;
  readonly args: readonly string[];
  /** It names a command or some of its options, and need not be whole. */
  readonly isMention: boolean;
}

/** Ways in which documents call the program. */
const CALL = /^\s*(?:"\$DIR\/cli\/flotilla"|cli\/flotilla|flotilla|npm run (?:-s )?flotilla --) (.*)$/;

/** A command in a sentence, unless it is a namespace, and as much of its line as follows: words, options and placeholders. */
const ADVICE =
  /(?<!`|-n |--namespace |[\w-])flotilla ((?:[a-z]+ ?)+(?:(?:--?[a-z][\w-]*|\$\{[^}]*\}|\{[a-z]+\}|<[a-z]+>|[A-Z][A-Z/]+)(?: |(?=[^\w-])|$))*)/g;

/** Texts between backquotes that begin with the program's name, in documents and in the templates of sources. */
const SPAN = /`flotilla ([^`\n]+)`/g;

/** Commands that sentences advise; without an option the words may be prose. */
const advised = (text: string): string[] =>
  [...text.matchAll(ADVICE)].flatMap(([, said = '']) => (/(?<![\w-])--?[a-z]/.test(said) ? [said.trim()] : []));

/** All that a text shows as a command of `flotilla`: lines of blocks as a whole, texts between backquotes, and advice in sentences. */
export function commandLines(text: string): CommandLine[] {
  const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block.replaceAll('\\\n', ' '));
  const whole = blocks.flatMap((block) => block.split('\n')).flatMap((line) => CALL.exec(line)?.slice(1) ?? []);
  const named = new Set([...[...text.matchAll(SPAN)].map(([, said = '']) => said), ...advised(text)]);
  return [...whole.map((line) => ({ line, isMention: false })), ...[...named].map((line) => ({ line, isMention: true }))].map((each) => ({
    ...each,
    args: argumentsOf(each.line),
  }));
}

/** Words of a line without quotes, brackets of what may be left out, comments and whatever reads the output. */
const argumentsOf = (line: string): string[] =>
  line
    .replaceAll(/'[^']*'|"[^"]*"|\$\{[^}]*\}/g, 'X')
    .replace(/\s#.*$|\s(\||&&|>)\s.*$/g, '')
    .replaceAll(/[[\]]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '' && !/^(?:…|\.\.\.)$/.test(word));
