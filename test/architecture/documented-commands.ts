/** Commands of `flotilla` that documents show and messages advise. Pure. */

/** A command line of a document, with the words of its command and the options that it names. */
interface DocumentedCommand {
  readonly line: string;
  readonly words: string;
  readonly flags: readonly string[];
}

/** A command line with its arguments, as the program would get them. */
export interface CommandLine {
  readonly line: string;
  readonly args: readonly string[];
  /** It names a command or some of its options, and need not be whole. */
  readonly isMention: boolean;
}

/** Ways in which documents call the program. */
const CALL = /^\s*(?:"\$DIR\/cli\/flotilla"|cli\/flotilla|flotilla|npm run (?:-s )?flotilla --) (.*)$/;

/** Lines of blocks that call the program, continued lines as one; `known` are the words of its commands. */
export function documentedCommands(text: string, known: readonly string[]): DocumentedCommand[] {
  const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block.replaceAll('\\\n', ' '));
  return blocks
    .flatMap((block) => block.split('\n'))
    .flatMap((line) => {
      const [, said] = CALL.exec(line) ?? [];
      // What a shell would not hand over: comments, and whatever reads the output.
      const call = said?.replaceAll(/'[^']*'|"[^"]*"/g, 'X').replace(/\s#.*$|\s(\||&&|>)\s.*$/g, '');
      if (call === undefined) return [];
      const words = call.split(/\s+/).filter((word) => word !== '');
      const command = known.filter((each) => `${words.join(' ')} `.startsWith(`${each} `)).toSorted((a, b) => b.length - a.length)[0];
      return [
        { line: line.trim(), words: command ?? '', flags: words.flatMap((word) => /^\[?(--?[a-z][a-z-]*)/.exec(word)?.slice(1) ?? []) },
      ];
    });
}

/** A command in a text, and what follows as far as it may be of a command line: words, options and placeholders. */
const ADVICE = /\bflotilla ((?:[a-z]+ ?)+(?:(?:--?[a-z][\w-]*|\$\{[^}]*\}|\{[a-z]+\}|<[a-z]+>|[A-Z][A-Z/]+)(?: |(?=[^\w-])|$))*)/g;

/** Commands with options that the sentences of a source advise. */
export function advisedCommands(source: string, known: readonly string[]): DocumentedCommand[] {
  return [...source.matchAll(ADVICE)].flatMap(([line, said = '']) => {
    const command = known.filter((each) => `${said.trim()} `.startsWith(`${each} `)).toSorted((a, b) => b.length - a.length)[0];
    const flags = said.match(/(?<![\w-])--?[a-z][a-z-]*/g) ?? [];
    return flags.length === 0 ? [] : [{ line: line.trim(), words: command ?? '', flags }];
  });
}

/** Texts between backquotes that begin with the program's name, in documents and in the templates of sources. */
const SPAN = /`flotilla ([^`\n]+)`/g;

/** All that a text shows as a command of `flotilla`: lines of shell blocks as a whole, and texts between backquotes. */
export function commandLines(text: string): CommandLine[] {
  const blocks = [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block.replaceAll('\\\n', ' '));
  const whole = blocks.flatMap((block) => block.split('\n')).flatMap((line) => CALL.exec(line)?.slice(1) ?? []);
  const named = [...text.matchAll(SPAN)].map(([, said = '']) => said);
  return [...whole.map((line) => ({ line, isMention: false })), ...named.map((line) => ({ line, isMention: true }))].map((each) => ({
    ...each,
    args: argumentsOf(each.line),
  }));
}

/** Words of a line without quotes, brackets of what may be left out, comments and whatever reads the output. */
const argumentsOf = (line: string): string[] =>
  line
    .replaceAll(/'[^']*'|"[^"]*"|\$\{[^}]*\}/g, 'X')
    .replace(/\s#.*$|\s(\||&&|>)\s.*$/g, '')
    .split(/[\s[\]]+/)
    .filter((word) => word !== '' && !/^(?:…|\.\.\.)$/.test(word));
