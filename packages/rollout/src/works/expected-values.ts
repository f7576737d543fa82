/** The feedback values that end a ManifestWork, as its annotation states them (spec/talm 2.12). Pure. */
import { Annotation, foreign, readJson } from '@flotilla/api';
import { z } from 'zod';
import { quote } from '../values/go-format.ts';

/** One value that a manifest must report. */
export interface ExpectedValue {
  /** Index of the manifest in the work. */
  readonly manifestIndex: number;
  /** Name of the feedback value. */
  readonly name: string;
  /** Its value as a text. */
  readonly value: string;
}

/** The list, or what is wrong with the annotation. */
type ExpectedValues =
  | { readonly values: readonly ExpectedValue[]; readonly problem?: undefined }
  | { readonly problem: string; readonly values?: undefined };

const List = foreign(
  z
    .array(
      z.object({
        // A list that is written in Go may leave out values that are 0 or empty.
        manifestIndex: z.int().min(0).default(0),
        name: z.string().min(1),
        // The reference wants a text; a number or a truth value can only mean its text.
        value: z.union([z.string(), z.number(), z.boolean()]).transform(String).default(''),
      }),
    )
    .nullable()
    .transform((list) => list ?? []),
);

const SHAPE =
  'expected a JSON list of {"manifestIndex": number, "name": text, "value": text}, of which the index and the value may be left out';

/** Reads the annotation; absent and empty mean that nothing is expected. The problem names field, value and fix. */
export function parseExpectedValues(text: string | undefined): ExpectedValues {
  if (text === undefined || text.trim() === '') return { values: [] };
  const at = `annotation ${Annotation.expectedValues}`;
  const json = readJson(text);
  if (json === undefined) return { problem: `${at} ${quote(text, 120)} is no JSON: ${SHAPE}` };
  const list = List.safeParse(json);
  if (list.success) return { values: list.data };
  const [issue] = list.error.issues;
  const where =
    issue && issue.path.length > 0
      ? ` at ${issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')}`
      : '';
  return { problem: `${at} ${quote(text, 120)} is malformed${where}: ${SHAPE}` };
}
