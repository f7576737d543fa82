import { type KubeObject, parseJson, type Resource } from '@flotilla/api';
import type { z } from 'zod';

/** Reads what a server sends. */
export interface Reading {
  /** A text as JSON; throws for what is none. */
  readonly json: (text: string) => unknown;
  /** An object as its kind has it. */
  readonly object: <T extends KubeObject>(kind: Resource<T>, raw: unknown) => z.ZodSafeParseResult<T>;
}

/** Reads everything anew, so that what was read is the caller's. */
export const plainReading: Reading = { json: parseJson, object: (kind, raw) => kind.schema.safeParse(raw) };
