import type { YamlValue } from './canonical-json.ts';
import { Cursor, UncommonYaml, withoutEndBlanks } from './cursor.ts';
import { FlowReader, keyText } from './flow.ts';
import { resolvePlain } from './plain-scalar.ts';
import { readBlockScalar, readPlain, readQuoted } from './scalars.ts';

/** Levels that are read; the recursion of a reader is bounded by it. */
const MAX_DEPTH = 100;
/** A key stands on one line, and its colon at most so far from its beginning. */
const MAX_KEY = 1_024;

/**
 * The one document of a text in the YAML that manifests are written in: block and flow collections, scalars of every style. A tenth of the
 * time of a full reader, and what Go's reader forgives is forgiven: of a doubled key the last value counts, a quoted text may be indented
 * less than its key.
 * @throws UncommonYaml for everything else; the full reader decides about it
 */
export function readCommonYaml(text: string): YamlValue {
  return new YamlReader(text).document();
}

/** Keys of such a text that stand twice in one mapping, with the line of the second from 0. @throws UncommonYaml as `readCommonYaml` */
export function doubledYamlKeys(text: string): readonly { readonly key: string; readonly line: number }[] {
  const reader = new YamlReader(text);
  reader.document();
  return reader.doubledKeys;
}

class YamlReader {
  readonly #at: Cursor;
  #depth = 0;

  constructor(text: string) {
    this.#at = new Cursor(text);
  }

  get doubledKeys(): Cursor['doubledKeys'] {
    return this.#at.doubledKeys;
  }

  document(): YamlValue {
    const column = this.#at.toContent();
    if (column < 0) return null;
    const value = this.#node(-1);
    if (this.#at.toContent() >= 0) throw new UncommonYaml('text behind the document');
    return value;
  }

  /** The value at the cursor, which is part of a collection at column `parent`. The cursor is behind its last line then. */
  #node(parent: number): YamlValue {
    if (++this.#depth > MAX_DEPTH) throw new UncommonYaml('too many levels');
    const value = this.#isItem() ? this.#sequence(this.#at.column) : this.#mappingOrScalar(parent);
    this.#depth--;
    return value;
  }

  #mappingOrScalar(parent: number): YamlValue {
    const { line, column } = this.#at;
    const key = this.#key();
    if (key !== undefined) return this.#mapping(column, key);
    this.#at.line = line;
    this.#at.column = column;
    return this.#scalar(parent);
  }

  #scalar(parent: number): YamlValue {
    switch (this.#at.text.charAt(this.#at.column)) {
      case '|':
      case '>':
        return readBlockScalar(this.#at, parent);
      case '"':
      case "'": {
        const text = readQuoted(this.#at);
        this.#at.endLine();
        return text;
      }
      case '[':
      case '{': {
        const value = new FlowReader(this.#at, MAX_DEPTH - this.#depth).read();
        this.#at.endLine();
        return value;
      }
      default:
        this.#refuseIndicators();
        return resolvePlain(readPlain(this.#at, parent));
    }
  }

  #refuseIndicators(): void {
    if (/^(?:[&*!%@`#,\]}]|[?:-](?:\s|$)|\.\.\.\s*$)/.test(this.#at.rest)) throw new UncommonYaml('an indicator');
  }

  #isItem(): boolean {
    const { text, column } = this.#at;
    return text.charCodeAt(column) === 0x2d && (column + 1 === text.length || text.charCodeAt(column + 1) === 0x20);
  }

  #sequence(column: number): YamlValue {
    const items: YamlValue[] = [];
    for (;;) {
      this.#at.column++;
      items.push(this.#value(column, false));
      if (this.#at.toContent() !== column || !this.#isItem()) break;
    }
    this.#refuseDeeper(column);
    return items;
  }

  #mapping(column: number, first: string): YamlValue {
    const entries = new Map<string, YamlValue>();
    for (let key: string | undefined = first; key !== undefined; ) {
      if (entries.has(key)) this.#at.noteDoubled(key);
      entries.set(key, this.#value(column, true));
      if (this.#at.toContent() !== column) break;
      key = this.#isItem() ? undefined : this.#key();
      if (key === undefined) throw new UncommonYaml('a line of a mapping without a key');
    }
    this.#refuseDeeper(column);
    return entries;
  }

  #refuseDeeper(column: number): void {
    if (!this.#at.isAtEnd && this.#at.column > column) throw new UncommonYaml('a line that is indented too deep');
  }

  /** What follows a key or a dash: on its line, or on the next ones. */
  #value(column: number, isOfKey: boolean): YamlValue {
    this.#at.skipBlanks();
    const { text, column: at } = this.#at;
    if (at < text.length && text.charCodeAt(at) !== 0x23) {
      if (text.charCodeAt(at) === 0x09) throw new UncommonYaml('a tab before a value');
      return isOfKey ? this.#scalar(column) : this.#node(column);
    }
    this.#at.line++;
    const next = this.#at.toContent();
    // items of a key's sequence may stand below the key itself
    if (next > column || (next === column && isOfKey && this.#isItem())) return this.#node(column);
    return null;
  }

  /** Reads a key and its colon at the cursor; undefined, wherever the cursor is then, when there is none. */
  #key(): string | undefined {
    const { text, column } = this.#at;
    const first = text.charAt(column);
    if (first === '"' || first === "'") return this.#quotedKey();
    const window = text.slice(column, column + MAX_KEY);
    const found = /^[^\s[\]{}>|*&!%#`@,"'](?:[^:#]|:(?=[^ \t])|(?<![ \t])#)*?(?=:(?:[ \t]|$))/.exec(window)?.[0];
    if (found === undefined || /^[?-](?:\s|$)/.test(found)) return undefined;
    this.#at.column = column + found.length + 1;
    return keyText(withoutEndBlanks(found));
  }

  #quotedKey(): string | undefined {
    const { line } = this.#at;
    const key = readQuoted(this.#at);
    if (this.#at.line !== line || !/^[ \t]*:(?:[ \t]|$)/.test(this.#at.rest)) return undefined;
    this.#at.column = this.#at.text.indexOf(':', this.#at.column) + 1;
    return key;
  }
}
