import { isJsonObject, isSameJson } from '@flotilla/api';
import { fieldSchema, type Json, listKeys, type Schema } from '../schema/schema.ts';

/** A set of fields as managedFields has it (FieldsV1): `f:` a field, `k:` an item by its keys, `v:` by its value, `.` the thing itself. */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** No fields. */
export const NO_FIELDS: FieldSet = {};
const ITSELF: FieldSet = { '.': {} };

const isEmpty = (set: FieldSet): boolean => Object.keys(set).length === 0;
/** A leaf of the set, or a node that is itself in it. */
const holdsItself = (set: FieldSet): boolean => isEmpty(set) || set['.'] !== undefined;

/** Element of an item of a list that is a map or a set. */
export function itemElement(schema: Schema, item: unknown): string {
  const keys = listKeys(schema);
  if (!keys) return `v:${JSON.stringify(item)}`;
  const named = keys.toSorted().flatMap((key) => {
    const value = isJsonObject(item) ? (item[key] ?? schema.items?.properties?.[key]?.default) : undefined;
    return value === undefined ? [] : [[key, value] as const];
  });
  return `k:${JSON.stringify(Object.fromEntries(named))}`;
}

/** True for a value that is owned as a whole. */
export function isAtomic(schema: Schema, value: unknown): boolean {
  if (Array.isArray(value)) return !['map', 'set'].includes(schema['x-kubernetes-list-type'] ?? 'atomic');
  if (isJsonObject(value)) return schema['x-kubernetes-map-type'] === 'atomic';
  return true;
}

/** Every field of a value. */
export function fieldsOf(schema: Schema, value: unknown): FieldSet {
  if (isAtomic(schema, value)) return NO_FIELDS;
  const set: Record<string, FieldSet> = {};
  if (Array.isArray(value)) {
    for (const item of value)
      set[itemElement(schema, item)] = isAtomic(schema.items ?? {}, item) ? {} : { '.': {}, ...fieldsOf(schema.items ?? {}, item) };
    return set;
  }
  for (const [key, child] of Object.entries(value as Json)) {
    const field = fieldSchema(schema, key) ?? {};
    const inner = fieldsOf(field, child);
    const isOwn = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    set[`f:${key}`] = isEmpty(inner) || isOwn ? inner : { '.': {}, ...inner };
  }
  return set;
}

/** Fields in one of two sets. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  const both: Record<string, FieldSet> = { ...a };
  for (const [key, inner] of Object.entries(b)) {
    const own = a[key];
    if (own === undefined) both[key] = inner;
    else if (key !== '.') both[key] = joined(own, inner);
  }
  return both;
}

function joined(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) && isEmpty(b)) return a;
  const inner = union(a, b);
  return isEmpty(a) || isEmpty(b) ? { '.': {}, ...inner } : inner;
}

/** Fields of `a` that are not in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  const left: Record<string, FieldSet> = {};
  for (const [key, inner] of Object.entries(a)) {
    const other = b[key];
    if (other === undefined) left[key] = inner;
    else if (key !== '.') {
      const rest = isEmpty(inner) ? (holdsItself(other) ? undefined : inner) : difference(inner, isEmpty(other) ? ITSELF : other);
      if (rest !== undefined && (isEmpty(inner) || !isEmpty(rest))) left[key] = normal(rest);
    }
  }
  return left;
}

const normal = (set: FieldSet): FieldSet => (Object.keys(set).length === 1 && set['.'] ? NO_FIELDS : set);

/** Paths of the set as messages write them, each with its elements. */
export function* pathsOf(set: FieldSet, elements: readonly string[] = []): Generator<readonly string[]> {
  if (elements.length > 0 && holdsItself(set)) yield elements;
  for (const [key, inner] of Object.entries(set)) if (key !== '.') yield* pathsOf(inner, [...elements, key]);
}

/** `.spec.items[name="a"].value`. */
export const pathText = (elements: readonly string[]): string =>
  elements
    .map((element) => {
      const text = element.slice(2);
      if (element.startsWith('f:')) return `.${text}`;
      if (element.startsWith('v:')) return `[=${text}]`;
      const keys = Object.entries(JSON.parse(text) as Json).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      return `[${keys.join(',')}]`;
    })
    .join('');

/** True when the set holds the path itself. */
export function holds(set: FieldSet, elements: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of elements) node = node?.[element];
  return node !== undefined && holdsItself(node);
}

/** Fields that two values differ in: in the new one alone or otherwise, and in the old one alone. @param isCustom the object is a custom resource */
export function changedFields(
  schema: Schema,
  before: unknown,
  after: unknown,
  isCustom: boolean,
): { changed: FieldSet; removed: FieldSet } {
  const [old, next] = [leavesOf(schema, before, isCustom), leavesOf(schema, after, isCustom)];
  let changed: FieldSet = {};
  let removed: FieldSet = {};
  for (const [path, leaf] of next) {
    const was = old.get(path);
    if (!was || (was.isLeaf && leaf.isLeaf ? !isSameJson(was.value, leaf.value) : was.isLeaf !== leaf.isLeaf))
      changed = union(changed, setOf(leaf.elements));
  }
  for (const [path, leaf] of old) if (!next.has(path)) removed = union(removed, setOf(leaf.elements));
  return { changed, removed };
}

/** The set of one path. */
export const setOf = (elements: readonly string[]): FieldSet => {
  let set: FieldSet = {};
  for (const element of elements.toReversed()) set = { [element]: set };
  return set;
};

interface Leaf {
  readonly elements: readonly string[];
  readonly value: unknown;
  /** It has no fields of its own. */
  readonly isLeaf: boolean;
}

function leavesOf(
  schema: Schema,
  value: unknown,
  isCustom: boolean,
  elements: readonly string[] = [],
  into = new Map<string, Leaf>(),
): Map<string, Leaf> {
  const add = (path: readonly string[], child: unknown, isLeaf: boolean) =>
    into.set(path.join('\n'), { elements: path, value: child, isLeaf });
  if (value === undefined) return into;
  if (isAtomic(schema, value)) {
    if (elements.length > 0) add(elements, value, true);
    return into;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      const path = [...elements, itemElement(schema, item)];
      if (!isAtomic(schema.items ?? {}, item)) add(path, item, false);
      leavesOf(schema.items ?? {}, item, isCustom, path, into);
    }
    return into;
  }
  for (const [key, child] of Object.entries(value as Json)) {
    const path = [...elements, `f:${key}`];
    const field = fieldSchema(schema, key) ?? {};
    const isOwn = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const isBare = isJsonObject(child) && Object.keys(child).length === 0;
    if (!isAtomic(field, child) && (isCustom || !isOwn || isBare || isGroup(field))) add(path, child, isBare);
    leavesOf(field, child, isCustom, path, into);
  }
  return into;
}

/** Maps and lists of items are fields themselves when they come; of objects with named fields only those of custom resources are. */
const isGroup = (schema: Schema): boolean => schema.properties === undefined;
