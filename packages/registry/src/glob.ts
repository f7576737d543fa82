/** One word of a pattern that matches one character, or any number of them. */
type Token = '*' | ((character: string) => boolean);

/** Whether a text matches a shell pattern (`*`, `?`, `[a-z]`, `\\` before a character), in time linear in text × pattern. */
export function matchesGlob(pattern: string, text: string): boolean {
  const tokens = tokenize(pattern);
  if (!tokens) return false;
  let [at, token, starAt, starToken] = [0, 0, 0, -1];
  while (at < text.length) {
    const current = tokens[token];
    if (current === '*') [starAt, starToken, token] = [at, token, token + 1];
    else if (current?.(text.charAt(at))) [at, token] = [at + 1, token + 1];
    else if (starToken >= 0) [starAt, at, token] = [starAt + 1, starAt + 1, starToken + 1];
    else return false;
  }
  return tokens.slice(token).every((rest) => rest === '*');
}

/** Undefined for a pattern that is broken, which matches nothing. */
function tokenize(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern.charAt(at);
    if (character === '*') tokens.push('*');
    else if (character === '?') tokens.push(() => true);
    else if (character === '[') {
      const end = pattern.indexOf(']', at + 2);
      if (end < 0) return undefined;
      tokens.push(characterClass(pattern.slice(at + 1, end)));
      at = end;
    } else {
      const literal = character === '\\' ? pattern.charAt(++at) : character;
      tokens.push((one) => one === literal);
    }
  }
  return tokens;
}

function characterClass(body: string): (character: string) => boolean {
  const isNegated = body.startsWith('^');
  const ranges = [...body.slice(isNegated ? 1 : 0).matchAll(/(.)(?:-(.))?/gs)].map(([, from = '', to = from]) => [from, to] as const);
  return (one) => ranges.some(([from, to]) => from <= one && one <= to) !== isNegated;
}
