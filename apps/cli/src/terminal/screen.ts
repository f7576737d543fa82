import { readTerminal } from '../config.ts';
import { writeOut } from './output.ts';

/** Where results go, and how they may look there. */
export interface Screen {
  /** A person looks at it. */
  readonly isTerminal: boolean;
  /** Columns to fit into; undefined where nothing is to be cut. */
  readonly width: number | undefined;
  readonly hasColor: boolean;
  readonly write: (text: string) => void;
}

/** Columns of a terminal that does not say how many it has. */
const USUAL_COLUMNS = 80;
/** Cells that three dots take beyond the sign for which they stand, at the end of a line that was cut. */
const DOTS_TAKE = 2;

/** Standard output. @param isWide nothing is cut, as with `-o wide` */
export function standardScreen(isWide = false): Screen {
  const { stdout } = process;
  const { noColor, columns, hasUtf8 } = readTerminal();
  const isTerminal = stdout.isTTY === true;
  return {
    isTerminal,
    width: isTerminal && !isWide ? (columns || stdout.columns || USUAL_COLUMNS) - (hasUtf8 ? 0 : DOTS_TAKE) : undefined,
    hasColor: isTerminal && !noColor,
    write: writeOut,
  };
}

const colors = { good: 32, bad: 31, late: 33, faint: 2 } as const;

/** The text in a colour, where there are any. A colour never says more than the words do. */
export const tinted = (screen: Pick<Screen, 'hasColor'>, color: keyof typeof colors, text: string): string =>
  screen.hasColor ? `\u001b[${colors[color]}m${text}\u001b[0m` : text;

/** Begins the next picture where the last one began. */
export const HOME = '\u001b[H\u001b[2J';
