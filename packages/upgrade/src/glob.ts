/**
 * Reads a pattern as Go's `path.Match` does: `*` and `?` for anything but a slash, `[a-z]` and `[^a-z]`, `\` before what stands for itself.
 * Undefined when it is malformed.
 */
export function compileGlob(pattern: string): RegExp | undefined {
  let source = '';
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern.charAt(at);
    if (sign === '*') source += '[^/]*';
    else if (sign === '?') source += '[^/]';
    else if (sign === '\\') {
      at += 1;
      if (at >= pattern.length) return undefined;
      source += literal(pattern.charAt(at));
    } else if (sign === '[') {
      const group = /^\[(\^?)((?:\\.|[^\]\\])(?:\\.|[^\]\\])*)\]/.exec(pattern.slice(at));
      const set = group && readSet(group[2] ?? '');
      if (!group || set === undefined) return undefined;
      source += `[${group[1]}${set}]`;
      at += group[0].length - 1;
    } else source += literal(sign);
  }
  return new RegExp(`^${source}$`);
}

const literal = (sign: string): string => sign.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Characters and ranges of a set; undefined when a range lacks an end or runs backwards. */
function readSet(text: string): string | undefined {
  const signs = [...text.matchAll(/\\(.)|(.)/gsu)].map(([, escaped, plain]) => ({ sign: escaped ?? plain ?? '', isDash: plain === '-' }));
  let set = '';
  for (let at = 0; at < signs.length; at += 1) {
    const from = signs[at];
    if (!from || from.isDash) return undefined;
    if (!signs[at + 1]?.isDash) {
      set += literal(from.sign);
      continue;
    }
    const to = signs[at + 2];
    if (!to || to.isDash || to.sign < from.sign) return undefined;
    set += `${literal(from.sign)}-${literal(to.sign)}`;
    at += 2;
  }
  return set;
}
