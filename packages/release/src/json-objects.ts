import { quoted } from './errors.ts';

/** The text of one object, and where it begins. */
interface JsonObjectText {
  readonly at: number;
  readonly text: string;
}

/**
 * Finds the objects of a text that has one JSON object after the other; whether each is JSON is for the caller to see.
 * @throws Error `has "…" between objects`, `nests deeper than …`, `ends inside the object …`
 */
export function* jsonObjects(text: string, maxDepth: number): Generator<JsonObjectText> {
  for (let at = nextObject(text, 0); at < text.length; ) {
    const end = endOfObject(text, at, maxDepth);
    yield { at, text: text.slice(at, end) };
    at = nextObject(text, end);
  }
}

function nextObject(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
  if (at < text.length && text.charAt(at) !== '{')
    throw new Error(`has ${quoted(text.slice(at, at + 20))} between objects, at character ${at}`);
  return at;
}

/** Index behind the brace that closes the object at `start`. Strings are skipped. */
function endOfObject(text: string, start: number, maxDepth: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) throw new Error(`nests deeper than ${maxDepth} levels`);
    } else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  throw new Error(`ends inside the object at character ${start}`);
}

/** Index of the quote that closes the string at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at;
  }
  return text.length;
}
