/** Everything that somebody may do by hand to one field of an object, as JSON patches. */
import { isJsonObject } from '@flotilla/api';

type Json = Readonly<Record<string, unknown>>;

/** One edit of one field. */
export interface FieldEdit {
  /** `spec.template.spec.containers[0].image`. */
  readonly path: string;
  /** The value that it gets: `{}`, `[]`, `false`, `""`, `0`, `null`; else `changed`, `removed` or `extended`. */
  readonly how: string;
  readonly patch: readonly Json[];
}

const EMPTY = [{}, [], false, '', 0, null];
/** Fields that name the object, or are its controller's. */
const NOT_EDITED = new Set(['apiVersion', 'kind', 'status']);
const EDITED_METADATA = ['labels', 'annotations'];

/**
 * All edits of the fields that a manifest sets, at every depth, and of those that somebody may add beside them.
 * @param more values at places where the manifest has none, each of which is added by itself
 */
export function editsOf(manifest: Json, more: Json = {}): FieldEdit[] {
  const { metadata, ...rest } = manifest;
  const set = Object.fromEntries(Object.entries(isJsonObject(metadata) ? metadata : {}).filter(([key]) => EDITED_METADATA.includes(key)));
  const fields = Object.entries(rest).filter(([key]) => !NOT_EDITED.has(key));
  return [
    ...fields.flatMap(([key, value]) => ofField(value, { path: key, pointer: `/${escaped(key)}` })),
    ...Object.entries(set).flatMap(([key, value]) => ofField(value, { path: `metadata.${key}`, pointer: `/metadata/${key}` })),
    ...additions(manifest, more, { path: '', pointer: '' }),
  ];
}

interface Place {
  readonly path: string;
  readonly pointer: string;
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
const at = ({ path, pointer }: Place, key: string | number): Place => ({
  path: typeof key === 'number' ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`,
  pointer: `${pointer}/${typeof key === 'number' ? key : escaped(key)}`,
});

function ofField(value: unknown, place: Place): FieldEdit[] {
  const { path, pointer } = place;
  const to = (how: string, next: unknown): FieldEdit => ({ path, how, patch: [{ op: 'replace', path: pointer, value: next }] });
  const emptied = EMPTY.filter((empty) => JSON.stringify(empty) !== JSON.stringify(value)).map((empty) => to(JSON.stringify(empty), empty));
  const removed: FieldEdit = { path, how: 'removed', patch: [{ op: 'remove', path: pointer }] };
  const changed = otherThan(value);
  return [...emptied, removed, ...(changed === undefined ? [] : [to('changed', changed)]), ...inside(value, place)];
}

function inside(value: unknown, place: Place): FieldEdit[] {
  const { path, pointer } = place;
  const more = (key: string, added: unknown): FieldEdit => ({
    path,
    how: 'extended',
    patch: [{ op: 'add', path: `${pointer}/${key}`, value: added }],
  });
  if (Array.isArray(value))
    return [
      ...value.flatMap((entry: unknown, index) => ofField(entry, at(place, index))),
      ...(value.length === 0 ? [] : [more('-', renamed(value[0]))]),
    ];
  if (!isJsonObject(value)) return [];
  return [...Object.entries(value).flatMap(([key, field]) => ofField(field, at(place, key))), more('theirs', 'x')];
}

/** An entry of a list that is none of its entries, and like them. */
const renamed = (entry: unknown): unknown => {
  if (!isJsonObject(entry)) return otherThan(entry);
  const [key] = ['name', 'key', 'mountPath', 'record'].filter((one) => typeof entry[one] === 'string');
  return key === undefined ? entry : { ...entry, [key]: `${String(entry[key])}x` };
};

function otherThan(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  return typeof value === 'string' ? `${value}x` : undefined;
}

/** One edit for each value that the manifest has nothing for. */
function additions(manifest: unknown, more: unknown, place: Place): FieldEdit[] {
  const { path, pointer } = place;
  if (manifest === undefined) return [{ path, how: 'added', patch: [{ op: 'add', path: pointer, value: more }] }];
  if (Array.isArray(manifest) && Array.isArray(more))
    return more.flatMap((value: unknown, index) => additions(manifest[index], value, at(place, index)));
  if (!isJsonObject(manifest) || !isJsonObject(more)) return [];
  return Object.entries(more).flatMap(([key, value]) => additions(manifest[key], value, at(place, key)));
}
