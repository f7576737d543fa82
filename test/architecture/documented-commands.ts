/** Commands of `flotilla` that documents show and messages advise. Pure. */

/** A command line of a document, with the words of its command and the options that it names. */
interface DocumentedCommand {
  readonly line: string;
  readonly words: string;
  readonly flags: readonly string[];
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
