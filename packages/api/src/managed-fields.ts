import { z } from 'zod';
import type { ObjectMeta } from './kubernetes.ts';
import { readable, readableList } from './readable.ts';

const Entry = z.looseObject({
  manager: z.string().default(''),
  /** Empty for the object itself. */
  subresource: z.string().default(''),
  /** RFC 3339, to the second. */
  time: z.string().optional(),
  fieldsV1: readable(z.record(z.string(), z.unknown())),
});
/** Most entries that are read; a server keeps far fewer. */
const MOST_ENTRIES = 1_000;
const Entries = z.object({ managedFields: readableList(Entry, MOST_ENTRIES) });

/** Entries of the server on who wrote an object, and when. One that cannot be read is left out. */
export const managedFieldsOf = ({ managedFields }: ObjectMeta): readonly z.output<typeof Entry>[] =>
  Entries.parse({ managedFields }).managedFields ?? [];
