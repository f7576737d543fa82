/** YAML that the common reader leaves to the full one: anchors, tags, merges, and whatever it does not know. */
export class UncommonYaml extends Error {}

/** A place in a text of lines. */
export class Cursor {
  readonly lines: readonly string[];
  line = 0;
  column = 0;
  /** Keys that stand twice in one mapping, with the line of the second from 0, at most a hundred. */
  readonly doubledKeys: { readonly key: string; readonly line: number }[] = [];

  constructor(text: string) {
    this.lines = text.split('\n');
  }

  /** What the line holds from the cursor on. */
  get rest(): string {
    return this.text.slice(this.column);
  }
  /** The line; nothing behind the last one. */
  get text(): string {
    return this.lines[this.line] ?? '';
  }
  get isAtEnd(): boolean {
    return this.line >= this.lines.length;
  }

  /** Goes to the first line from here on that has content, to its first character; its column, or -1 at the end. */
  toContent(): number {
    for (; !this.isAtEnd; this.line++) {
      const indent = indentOf(this.text);
      if (indent < 0 || this.text.charCodeAt(indent) === 0x23) continue;
      this.column = indent;
      return indent;
    }
    this.column = 0;
    return -1;
  }

  /** A key stands in its mapping already. */
  noteDoubled(key: string): void {
    if (this.doubledKeys.length < 100) this.doubledKeys.push({ key, line: this.line });
  }

  skipBlanks(): void {
    while (this.text.charCodeAt(this.column) === 0x20) this.column++;
  }

  /** Leaves a line on which nothing but a comment may follow. */
  endLine(): void {
    if (!/^\s*(?:\s#|$)/.test(this.rest)) throw new UncommonYaml('text behind a value');
    this.line++;
    this.column = 0;
  }
}

/** A line without the blanks at its end. */
export function withoutEndBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(0, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Column of the first character that is no blank, or -1 for a line without one. */
export function indentOf(line: string): number {
  let at = 0;
  while (line.charCodeAt(at) === 0x20) at++;
  if (at === line.length) return -1;
  // a tab is no indentation
  if (line.charCodeAt(at) === 0x09) throw new UncommonYaml('a tab before the content of a line');
  return at;
}

/** Joins the lines of a scalar: one break becomes a blank, of more all but the first stay. */
export class FoldedText {
  #text: string;
  #breaks = 0;
  #isGlued = false;

  constructor(first: string) {
    this.#text = first;
  }

  /** Adds what the next line holds between the blanks around it. `isGlued`: the break before it was escaped. */
  add(part: string, isGlued = false): void {
    if (this.#breaks++ === 0) this.#isGlued = isGlued;
    if (part !== '') this.#flush(part);
  }

  /** The text; breaks at its end count too. */
  end(): string {
    if (this.#breaks > 0) this.#flush('');
    return this.#text;
  }

  #flush(part: string): void {
    if (this.#breaks > 1) this.#text += '\n'.repeat(this.#breaks - 1);
    else if (!this.#isGlued) this.#text += ' ';
    this.#text += part;
    this.#breaks = 0;
  }
}
