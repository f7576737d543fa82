import { z } from 'zod';
import { perObject } from './per-object.ts';

/** Rounds of leaving nulls out; each leaves out all that a parse finds. */
const MOST_ROUNDS = 8;

/** One for each schema: callers make them where they parse, and to make one costs more than to parse. */
const tolerant = perObject((schema: z.ZodType) =>
  z.unknown().transform((value, context) => {
    const parsed = parseForeign(schema, value);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.addIssue({ ...issue, path: [...issue.path] });
    return z.NEVER;
  }),
);

/**
 * Parses a document of another writer as Go reads JSON: a null that the schema refuses counts as an absent field. Other nulls stay, so a value that is
 * passed on is unchanged.
 */
export const foreign = <T extends z.ZodType>(schema: T) => tolerant(schema) as unknown as z.ZodType<z.output<T>, z.input<T>>;

function parseForeign<T extends z.ZodType>(schema: T, value: unknown): z.ZodSafeParseResult<z.output<T>> {
  let [parsed, left] = [schema.safeParse(value), value];
  for (let round = 0; round < MOST_ROUNDS && !parsed.success; round++) {
    const nulls = listNulls(parsed.error.issues, left);
    if (nulls.length === 0) break;
    left = nulls.reduce<unknown>((document, { path, zero }) => replaced(document, path, zero), left);
    parsed = schema.safeParse(left);
  }
  return parsed;
}

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

interface FoundNull {
  readonly path: Path;
  /** Go's value for a null where the place itself stays: in a list. */
  readonly zero: unknown;
}

/** Finds the nulls that a parse refused, also those within the options of a union. */
function listNulls(issues: readonly Issue[], document: unknown, at: Path = []): FoundNull[] {
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path];
    if (valueAt(document, path) === null) return path.length === 0 ? [] : [{ path, zero: zeroOf(issue) }];
    return issue.code === 'invalid_union' ? issue.errors.flatMap((option) => listNulls(option, document, path)) : [];
  });
}

const valueAt = (document: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined), document);

function zeroOf(issue: Issue): unknown {
  const expected = issue.code === 'invalid_type' ? issue.expected : '';
  const zeros: Readonly<Record<string, unknown>> = { object: {}, record: {}, string: '', number: 0, int: 0, boolean: false, array: [] };
  return zeros[expected];
}

/** Copies a document along a path, without its end; in a list, with the zero value there. */
function replaced(document: unknown, path: Path, zero: unknown): unknown {
  const [key, ...rest] = path;
  if (Array.isArray(document))
    return document.map((each, index) => (index !== key ? each : rest.length > 0 ? replaced(each, rest, zero) : zero));
  if (typeof document !== 'object' || document === null) return document;
  const entries = Object.entries(document);
  return Object.fromEntries(
    rest.length > 0
      ? entries.map(([name, each]) => [name, name === key ? replaced(each, rest, zero) : each])
      : entries.filter(([name]) => name !== key),
  );
}

/**
 * Parses a list of another writer entry by entry: unreadable entries are left out, and of too many the last are kept. It never fails, because rights
 * of a spoke are in other fields of the object whose status it writes. A left-out entry is absent, so its waiters go on waiting.
 */
export const readableList = <T extends z.ZodType>(entry: T, most: number) => {
  const lenient = foreign(entry);
  return z.preprocess((value: unknown) => {
    if (!Array.isArray(value)) return undefined;
    const entries: readonly unknown[] = value.length > most ? value.slice(-most) : value;
    return entries.flatMap((one) => {
      const parsed = lenient.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    });
  }, z.array(z.custom<z.output<T>>()).optional());
};

/** Parses a field of another writer: an unreadable one is absent. */
export const readable = <T extends z.ZodType>(field: T) => foreign(field).optional().catch(undefined);
