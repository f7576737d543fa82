/** Part of a text of YAML; without `piece`, where an entry is too large to be one. */
interface YamlPiece {
  readonly piece: string | undefined;
  /** Line of its beginning, from 1. */
  readonly line: number;
}

/** Characters that begin or end something in YAML: a parser's time goes by them, hardly by what is between. */
const MARK = /[\n,:[\]{}"'&*!?#|>%-]/g;
/** Marks of one piece: the worst of them keep the parser busy for a tenth of a second. */
const MAX_MARKS = 16_000;

/**
 * Divides a text whose top level is a list between entries of that list, into pieces that each are quickly parsed. A text that is
 * small enough is one piece, whatever it holds. An anchor counts in its own piece alone.
 */
export function* yamlPieces(text: string): Generator<YamlPiece> {
  if (marksOf(text) <= MAX_MARKS) return yield { piece: text, line: 1 };
  const indent = /(?:^|\n)( *)-[ \r\n]/.exec(text)?.[1] ?? '';
  // Lines inside a scalar or a flow collection of an entry are indented further than the entry.
  const entries = text.split(new RegExp(`(?<=\n)(?=${indent}-(?:[ \\r\n]|$))`));
  let [piece, marks, line, pieceLine] = ['', 0, 1, 1];
  for (const entry of entries) {
    const own = marksOf(entry);
    if (marks + own > MAX_MARKS && piece !== '') {
      yield { piece, line: pieceLine };
      [piece, marks, pieceLine] = ['', 0, line];
    }
    if (own > MAX_MARKS) return yield { piece: undefined, line };
    piece += entry;
    marks += own;
    line += linesOf(entry);
  }
  yield { piece, line: pieceLine };
}

const marksOf = (text: string): number => text.match(MARK)?.length ?? 0;
const linesOf = (text: string): number => text.split('\n').length - 1;
