import { isJsonObject, isSameJson } from '@flotilla/api';

/** One field of an object that becomes another; what is absent was not there, or is no longer. */
export interface FieldChange {
  /** As `spec.template.spec.containers[app].image`; keys with dots in quotes. */
  readonly path: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Fields of metadata that servers write by themselves. */
const SERVER_METADATA = new Set(['creationTimestamp', 'generation', 'managedFields', 'resourceVersion', 'selfLink', 'uid']);

/** Changes of one object that are told; a changed object of a thousand fields is a new one. */
const MOST_CHANGES = 1_000;

/** Fields in which an object becomes another, without what a server itself writes. Pure. */
export function fieldChanges(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): FieldChange[] {
  const changes: FieldChange[] = [];
  compare('', written(before), written(after), changes);
  return changes;
}

function written({ status: _status, metadata, ...rest }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = isJsonObject(metadata) ? Object.entries(metadata).filter(([key]) => !SERVER_METADATA.has(key)) : [];
  return { ...rest, metadata: Object.fromEntries(own) };
}

function compare(path: string, from: unknown, to: unknown, changes: FieldChange[]): void {
  if (changes.length >= MOST_CHANGES || isSameJson(from, to)) return;
  const [left, right] = [partsOf(from), partsOf(to)];
  if (!left || !right || left.isList !== right.isList) {
    changes.push({ path, ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
    return;
  }
  const order = left.isList && [...left.parts.keys()].join('\0') !== [...right.parts.keys()].join('\0');
  const before = changes.length;
  for (const key of new Set([...left.parts.keys(), ...right.parts.keys()])) {
    const next = left.isList ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)}`;
    compare(next, left.parts.get(key), right.parts.get(key), changes);
  }
  // the same entries in another order
  if (order && changes.length === before) changes.push({ path, from, to });
}

interface Parts {
  readonly isList: boolean;
  readonly parts: ReadonlyMap<string, unknown>;
}

/** The parts of an object by key, those of a list by unique names of its entries, else by place; undefined for a scalar. */
function partsOf(value: unknown): Parts | undefined {
  if (isJsonObject(value)) return { isList: false, parts: new Map(Object.entries(value)) };
  if (!Array.isArray(value)) return undefined;
  const names = value.map((entry: unknown) => (isJsonObject(entry) && typeof entry.name === 'string' ? entry.name : undefined));
  const areNamed = names.every((name) => name !== undefined) && new Set(names).size === names.length;
  return { isList: true, parts: new Map(value.map((entry: unknown, index) => [areNamed ? (names[index] ?? '') : String(index), entry])) };
}
