import { quoted } from './errors.ts';

/** The text of one object, and the byte where it begins. */
interface JsonObjectText {
  readonly at: number;
  readonly text: string;
}

/** Bounds of one object. */
interface ObjectLimits {
  readonly depth: number;
  /** Default: none. */
  readonly bytes?: number;
}

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, BACKSLASH] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** True for a text whose first sign is a brace. */
export const beginsWithBrace = (content: Uint8Array): boolean => content[skipBlanks(content, markLength(content))] === OPEN_OBJECT;

/**
 * Finds the objects of a text that has one JSON object after the other; whether each is JSON is for the caller to see. Each is decoded by itself: a text
 * of hundreds of megabytes takes its bytes and one object, no more.
 * @throws Error `has "…" between objects`, `nests deeper than …`, `has an object of more than …`, `ends inside the object …`, `is not UTF-8 text`
 */
export function* jsonObjects(content: Uint8Array, limits: ObjectLimits): Generator<JsonObjectText> {
  for (let at = nextObject(content, markLength(content)); at < content.length; ) {
    const end = endOfObject(content, at, limits);
    yield { at, text: decodeUtf8(content.subarray(at, end)) };
    at = nextObject(content, end);
  }
}

function skipBlanks(content: Uint8Array, from: number): number {
  let at = from;
  for (let code = content[at]; code === SPACE || code === NEWLINE || code === RETURN || code === TAB; code = content[at]) at++;
  return at;
}

/** Bytes behind an object that a message quotes. */
const QUOTED_BYTES = 20;

function nextObject(content: Uint8Array, from: number): number {
  const at = skipBlanks(content, from);
  if (at < content.length && content[at] !== OPEN_OBJECT) {
    const strange = new TextDecoder().decode(content.subarray(at, at + QUOTED_BYTES));
    throw new Error(`has ${quoted(strange)} between objects, at byte ${at}`);
  }
  return at;
}

/** Index behind the brace that closes the object at `start`. Strings are skipped. No byte of a longer sign looks like one of these. */
function endOfObject(content: Uint8Array, start: number, { depth: most, bytes = Number.POSITIVE_INFINITY }: ObjectLimits): number {
  let depth = 0;
  for (let at = start; at < content.length; at++) {
    const code = content[at];
    if (code === QUOTE) at = endOfString(content, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth > most) throw new Error(`nests deeper than ${most} levels`);
    } else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && --depth === 0) {
      if (at + 1 - start > bytes) throw new Error(`has an object of more than ${bytes} bytes`);
      return at + 1;
    }
  }
  throw new Error(`ends inside the object at byte ${start}`);
}

/** Index of the quote that closes the string at `start`. */
function endOfString(content: Uint8Array, start: number): number {
  for (let at = start + 1; at < content.length; at++) {
    const code = content[at];
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return content.length;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Decodes a text, without the mark that may stand at its beginning. @throws Error for bytes that are no text */
export function decodeUtf8(content: Uint8Array): string {
  try {
    return decoder.decode(content);
  } catch (cause) {
    throw new Error('is not UTF-8 text', { cause });
  }
}

/** Bytes of the mark at the beginning of a text; 0 without one. */
export const markLength = ([first, second, third]: Uint8Array): number => (first === 0xef && second === 0xbb && third === 0xbf ? 3 : 0);
