import { type Document, isAlias, isCollection, isPair, isScalar, Lexer, parseAllDocuments, visit } from 'yaml';
import { quoted } from '../errors.ts';

/**
 * The YAML documents of a text as JSON values, empty ones left out.
 * @param most tokens of the text, and nodes of a document with its aliases written out
 * @throws Error for what is not YAML, has a key twice in one object, or is beyond `most`
 */
export function readYamlDocuments(text: string, most: number): unknown[] {
  refuseMoreTokens(text, most);
  // the parser's own check of keys takes the square of their number, its prettier errors seconds
  const parsed = parseAllDocuments(text, { logLevel: 'silent', uniqueKeys: false, prettyErrors: false });
  const documents = Array.isArray(parsed) ? parsed : [];
  const [problem] = documents.flatMap((document) => document.errors);
  if (problem) throw problem;
  for (const document of documents) {
    refuseDoubleKeys(document);
    if (new WrittenOut(most).nodesOf(document.contents) > most) throw tooMuch(most);
  }
  // the parser's own bound on aliases goes through the whole document for each; ours are counted above
  return documents
    .map((document): unknown => document.toJS({ maxAliasCount: -1 }))
    .filter((value) => value !== null && value !== undefined);
}

const tooMuch = (most: number): Error => new Error(`it has more than ${most} values, marks and breaks; JSON may have more`);

/** What parsing costs goes with tokens; finding them takes a tenth of it. */
function refuseMoreTokens(text: string, most: number): void {
  // no character begins more than two
  if (text.length < most / 2) return;
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) if (++tokens > most) throw tooMuch(most);
}

/** As opm's parser does: of two values of a key nobody knows which was meant. */
function refuseDoubleKeys(document: Document): void {
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) throw new Error(`the key ${quoted(String(key.value))} stands twice in one object`);
        keys.add(key.value);
      }
    },
  });
}

/** Counts nodes of a document as if each alias were written out: a few lines of them can stand for gigabytes. */
class WrittenOut {
  readonly #most: number;
  readonly #anchors = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws Error for an alias that stands for nothing or for what it is part of, and beyond the bound */
  nodesOf(node: unknown): number {
    if (isAlias(node)) return this.#anchored(node.source);
    if (isPair(node)) return this.nodesOf(node.key) + this.nodesOf(node.value);
    const anchor = isScalar(node) || isCollection(node) ? node.anchor : undefined;
    // inside of it the name stands for nothing that could be written out
    if (anchor !== undefined) this.#anchors.delete(anchor);
    let nodes = 1;
    if (isCollection(node)) for (const item of node.items) nodes += this.nodesOf(item);
    if (nodes > this.#most) throw tooMuch(this.#most);
    if (anchor !== undefined) this.#anchors.set(anchor, nodes);
    return nodes;
  }

  #anchored(name: string): number {
    const nodes = this.#anchors.get(name);
    if (nodes === undefined) throw new Error(`the alias ${quoted(name)} stands for nothing before it`);
    return nodes;
  }
}
