import { type KubeObject, parseJson, type Resource } from '@flotilla/api';
import type { Reading } from '@flotilla/runtime';
import type { z } from 'zod';

/** Texts that are remembered: a change is told to all that watch within moments. */
const MOST_TEXTS = 500;
const EVENT = /^\{"type":"([A-Z]+)","object":/;

/**
 * Reads each object once for all clients of a server: most are sent to whoever wrote them and to some that watch. What it gives is frozen, so that
 * nobody changes what others read too.
 */
export class SharedReading implements Reading {
  readonly #texts = new Map<string, unknown>();
  readonly #objects = new WeakMap<object, Map<z.ZodType, z.ZodSafeParseResult<unknown>>>();

  readonly json = (text: string): unknown => {
    const [head = '', type] = EVENT.exec(text) ?? [];
    return type === undefined ? this.#json(text) : { type, object: this.#json(text.slice(head.length, -1)) };
  };

  readonly object = <T extends KubeObject>({ schema }: Resource<T>, raw: unknown): z.ZodSafeParseResult<T> => {
    if (typeof raw !== 'object' || raw === null) return schema.safeParse(raw);
    const known = this.#objects.get(raw) ?? new Map<z.ZodType, z.ZodSafeParseResult<unknown>>();
    this.#objects.set(raw, known);
    const result = known.get(schema) ?? schema.safeParse(raw);
    if (!known.has(schema) && result.success) freeze(result.data);
    known.set(schema, result);
    return result as z.ZodSafeParseResult<T>;
  };

  #json(text: string): unknown {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const value = parseJson(text);
    freeze(value);
    this.#texts.set(text, value);
    for (const oldest of this.#texts.keys()) {
      if (this.#texts.size <= MOST_TEXTS) break;
      this.#texts.delete(oldest);
    }
    return value;
  }
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
}
