import { isJsonObject } from '@flotilla/api';
import { fieldSchema, type Json, type Schema } from '../schema/schema.ts';
import { type FieldSet, isAtomic, itemElement } from './field-set.ts';

/** An object with what is applied to it: objects and keyed lists are merged, everything else is replaced. */
export function mergedFields(schema: Schema, live: unknown, applied: unknown): unknown {
  if (live === undefined || isAtomic(schema, applied)) return applied;
  if (Array.isArray(applied)) return Array.isArray(live) ? mergedList(schema, live, applied) : applied;
  if (!isJsonObject(live) || !isJsonObject(applied) || isAtomic(schema, live)) return applied;
  const merged: Json = { ...live };
  for (const [key, value] of Object.entries(applied)) merged[key] = mergedFields(fieldSchema(schema, key) ?? {}, live[key], value);
  return merged;
}

/** Items of both; those that are applied keep their order and come where they are first. */
function mergedList(schema: Schema, live: readonly unknown[], applied: readonly unknown[]): unknown[] {
  const element = (item: unknown): string => itemElement(schema, item);
  const wanted = new Map(applied.map((item) => [element(item), item]));
  const found = new Map(live.map((item) => [element(item), item]));
  const one = (key: string): unknown => mergedFields(schema.items ?? {}, found.get(key), wanted.get(key));
  const merged: unknown[] = [];
  const pending = [...wanted.keys()];
  for (const [key, item] of found) {
    if (!wanted.has(key)) merged.push(item);
    else while (pending.length > 0 && !merged.some((done) => element(done) === key)) merged.push(one(pending.shift() ?? key));
  }
  return [...merged, ...pending.map(one)];
}

/** An object without the fields of a set; a list or an object that others still have fields in stays. */
export function withoutFields(schema: Schema, value: unknown, removed: FieldSet, kept: FieldSet): unknown {
  if (Array.isArray(value)) {
    if (isAtomic(schema, value)) return value;
    return value.flatMap((item) => {
      const key = itemElement(schema, item);
      return part(schema.items ?? {}, item, removed[key], kept[key]);
    });
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, child]) =>
    part(fieldSchema(schema, key) ?? {}, child, removed[`f:${key}`], kept[`f:${key}`]).map((left) => [key, left] as const),
  );
  return Object.fromEntries(entries);
}

function part(schema: Schema, value: unknown, removed: FieldSet | undefined, kept: FieldSet | undefined): unknown[] {
  if (removed === undefined) return [value];
  const isWhole = Object.keys(removed).length === 0 || removed['.'] !== undefined;
  if (isWhole && kept === undefined) return [];
  const left = withoutFields(schema, value, removed, kept ?? {});
  // A group that the applier alone had fields in goes with the last of them.
  const isBare = (isJsonObject(left) || Array.isArray(left)) && Object.keys(left).length === 0 && !isAtomic(schema, value);
  return isBare && kept === undefined && Object.keys(value as object).length > 0 ? [] : [left];
}
