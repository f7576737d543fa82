import type { YamlValue } from './canonical-json.ts';
import { type Cursor, UncommonYaml, withoutEndBlanks } from './cursor.ts';
import { resolvePlain } from './plain-scalar.ts';
import { readQuoted } from './scalars.ts';

/** Reads `[…]` and `{…}` at a cursor, over several lines too. */
export class FlowReader {
  readonly #at: Cursor;
  #levels: number;

  constructor(at: Cursor, levels: number) {
    this.#at = at;
    this.#levels = levels;
  }

  read(): YamlValue {
    const first = this.#at.text.charAt(this.#at.column);
    if (first === '"' || first === "'") return readQuoted(this.#at);
    if (first !== '[' && first !== '{') return resolvePlain(this.#plain());
    if (this.#levels-- === 0) throw new UncommonYaml('too many levels');
    this.#at.column++;
    const value = first === '[' ? this.#list() : this.#map();
    this.#levels++;
    return value;
  }

  #list(): YamlValue {
    const items: YamlValue[] = [];
    while (!this.#ends(']')) {
      items.push(this.read());
      this.#separate(']');
    }
    return items;
  }

  #map(): YamlValue {
    const entries = new Map<string, YamlValue>();
    while (!this.#ends('}')) {
      const first = this.#at.text.charAt(this.#at.column);
      const isQuoted = first === '"' || first === "'";
      const key = isQuoted ? readQuoted(this.#at) : this.#plain();
      this.#toContent();
      // behind a quoted key the value may follow at once, as in JSON
      if (!(isQuoted ? /^:/ : /^:(?:\s|$)/).test(this.#at.rest)) throw new UncommonYaml('a key of a flow mapping without a value');
      this.#at.column++;
      this.#toContent();
      const value = /^[,}]/.test(this.#at.rest) ? null : this.read();
      const name = isQuoted ? key : keyText(key);
      if (entries.has(name)) this.#at.noteDoubled(name);
      entries.set(name, value);
      this.#separate('}');
    }
    return entries;
  }

  /** Whether the collection ends here; the cursor is behind its end then. */
  #ends(bracket: string): boolean {
    this.#toContent();
    if (this.#at.text.charAt(this.#at.column) !== bracket) return false;
    this.#at.column++;
    return true;
  }

  #separate(bracket: string): void {
    this.#toContent();
    const next = this.#at.text.charAt(this.#at.column);
    if (next === ',') this.#at.column++;
    else if (next !== bracket) throw new UncommonYaml('no comma between values');
  }

  /** On one line; whatever could mean something else is left to the full reader. */
  #plain(): string {
    const found = /^[^\s[\]{}>|*&!%#`@,"'?:-][^[\]{},:#?\n]*|^-[0-9][^[\]{},:#?\n]*/.exec(this.#at.rest)?.[0] ?? '';
    const next = this.#at.text.charAt(this.#at.column + found.length) || (this.#at.lines[this.#at.line + 1] ?? '').trimStart().charAt(0);
    if (found === '' || !/[\]},:]/.test(next)) throw new UncommonYaml('an unquoted value of a flow collection');
    this.#at.column += found.length;
    return withoutEndBlanks(found);
  }

  #toContent(): void {
    for (;;) {
      const blanks = /^\s*/.exec(this.#at.rest)?.[0].length ?? 0;
      this.#at.column += blanks;
      if (this.#at.column < this.#at.text.length) break;
      this.#at.line++;
      this.#at.column = 0;
      if (this.#at.isAtEnd) throw new UncommonYaml('a flow collection without an end');
    }
    if (this.#at.text.charAt(this.#at.column) === '#') throw new UncommonYaml('a comment in a flow collection');
  }
}

/** The text of an unquoted key in JSON: `yes` is the key `true`. */
export function keyText(plain: string): string {
  const value = resolvePlain(plain);
  if (plain === '<<' || value === null) throw new UncommonYaml('a merge, or a key that is null');
  return String(value);
}
