/** A document with one field taken away, and the same document with null in that place. */
interface NulledField {
  /** Path of the field, with dots. */
  readonly path: string;
  readonly absent: unknown;
  readonly nulled: unknown;
}

type Parent = Record<string, unknown>;

/** Takes each field of a document away, one at a time, at any depth; entries of lists stay. */
export function nulledFields(document: unknown): NulledField[] {
  return fieldsOf(document, []).map((path) => {
    const [absent, nulled] = [structuredClone(document), structuredClone(document)];
    const key = String(path.at(-1));
    delete parentOf(absent, path)[key];
    parentOf(nulled, path)[key] = null;
    return { path: path.join('.'), absent, nulled };
  });
}

const fieldsOf = (value: unknown, at: readonly string[]): string[][] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, each]) => [...(Array.isArray(value) ? [] : [[...at, key]]), ...fieldsOf(each, [...at, key])]);

const parentOf = (document: unknown, path: readonly string[]): Parent =>
  path.slice(0, -1).reduce<Parent>((value, key) => value[key] as Parent, document as Parent);
