import { RE2JS, RE2JSSyntaxException } from 're2js';

/** A regular expression of Go. Tests in time linear in text times expression, whatever either is. */
interface GoExpression {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

const INTRODUCTION = 'error parsing regexp: ';

/** Reads an expression as the reference does: what administrators wrote for that one means the same here. A text says why it is none. */
export function readGoExpression(text: string): GoExpression | string {
  try {
    const expression = RE2JS.compile(text);
    return { test: (given) => expression.matcher(given).find() };
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error.message.replace(INTRODUCTION, '');
    throw error;
  }
}
