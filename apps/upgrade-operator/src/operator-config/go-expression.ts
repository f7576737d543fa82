import { RE2JS, RE2JSSyntaxException } from 're2js';

const INTRODUCTION = 'error parsing regexp: ';
/** Characters: a longer one would keep a program for a quarter of a second when it is read, and again for each namespace. */
const MAX_LENGTH = 10_000;

/**
 * Reads an expression as the reference does: what administrators wrote for that one means the same here. A text says why it is none. Tests take time
 * linear in text times expression, whatever either is.
 */
export function readGoExpression(text: string): Pick<RegExp, 'test'> | string {
  if (text.length > MAX_LENGTH) return `has ${text.length} characters, at most ${MAX_LENGTH} are read; write several expressions`;
  try {
    const expression = RE2JS.compile(text);
    return { test: (given) => expression.matcher(given).find() };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error.message.replace(INTRODUCTION, '');
    throw error;
  }
}
