/** Takes the template expressions out of a raw template, so that YAML can read the rest. Pure. */

/**
 * A raw template as the reference takes its expressions out: `{{ $var }}` and `{{ .field }}` become `placeholder`, every other expression without a
 * closing brace is deleted. By hand rather than by pattern: a text of nothing but `{` must not take quadratic time.
 */
export function withoutPlainExpressions(text: string): string {
  let result = '';
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    const close = open < 0 ? -1 : text.indexOf('}', open + 2);
    if (close < 0) return result + text.slice(from);
    const whole = text.startsWith('}}', close);
    result += text.slice(from, whole ? open : close + 1);
    if (whole) result += standIn(text.slice(open + 2, close));
    from = whole ? close + 2 : close + 1;
  }
}

/**
 * The same for every expression that the framework's resolver takes: the hub's are taken out first, as they are resolved first, also within those of
 * the cluster. Texts in quotes or backquotes and comments may hold delimiters. An expression that never ends stays.
 */
export const withoutExpressions = (text: string): string => takeOut(takeOut(text, '{{hub', 'hub}}'), '{{', '}}');

function takeOut(text: string, left: string, right: string): string {
  let result = '';
  let from = 0;
  for (;;) {
    const open = text.indexOf(left, from);
    const end = open < 0 ? -1 : endOf(text, open + left.length, right);
    if (end < 0) return result + text.slice(from);
    result += text.slice(from, open) + standIn(text.slice(open + left.length, end));
    from = end + right.length;
  }
}

/** Where the right delimiter of an expression is, by the words of Go's template language; below 0: nowhere. Linear in what it passes. */
function endOf(text: string, from: number, right: string): number {
  const comment = /^-?\s*\/\*/.exec(text.slice(from, from + 16));
  if (comment) {
    const end = text.indexOf('*/', from + comment[0].length);
    return end < 0 ? -1 : text.indexOf(right, end + 2);
  }
  for (let at = from; at < text.length; at++) {
    if (text.startsWith(right, at)) return at;
    const quote = text[at];
    if (quote === '`') at = text.indexOf('`', at + 1);
    else if (quote === '"' || quote === "'") at = endOfQuoted(text, at + 1, quote);
    if (at < 0) return -1;
  }
  return -1;
}

function endOfQuoted(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length && text[at] !== '\n'; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at;
  }
  return -1;
}

/** A variable or a field stands for a text; of anything else nothing is known. */
const standIn = (expression: string): string => (/^-?\s*[$.][\w.$]*\s*-?$/.test(expression) ? 'placeholder' : '');
