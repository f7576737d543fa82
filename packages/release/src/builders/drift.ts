import { VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { type FieldChange, fieldChanges } from '../diff/field-changes.ts';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';

/** Fields that a write has put back, and who may have changed them. */
export interface Drift {
  /** Paths of fields and what was done with each, at most ten; none where this operator alone wrote them. Values are not told: some are secret. */
  readonly fields: readonly string[];
  readonly more: number;
  /** Field managers that own one of these fields now; none where the field is gone. */
  readonly managers: readonly string[];
}

const MOST_FIELDS = 10;
const MOST_CHARACTERS = 200;

/** Says what a write has made of a live object. Pure. */
export function driftOf(live: Json, stored: Json): Drift {
  const changes = fieldChanges(live, stored);
  const paths = changes.map(({ path }) => path);
  const owning = objectsAt(objectAt(live.metadata).managedFields)
    .filter(({ subresource }) => textAt(subresource) === '')
    .filter(({ fieldsV1 }) => paths.some((path) => owns(objectAt(fieldsV1), segmentsOf(path))))
    .map(({ manager }) => textAt(manager).slice(0, MOST_CHARACTERS));
  // This operator's own, of an object that is in several files: nobody has changed it.
  if (owning.length > 0 && owning.every((manager) => manager === VERSION_FIELD_MANAGER)) return { fields: [], more: 0, managers: [] };
  return {
    fields: changes.slice(0, MOST_FIELDS).map((change) => `${change.path.slice(0, MOST_CHARACTERS)} ${doneBy(change)}`),
    more: Math.max(0, paths.length - MOST_FIELDS),
    managers: [...new Set(owning)].filter((manager) => manager !== VERSION_FIELD_MANAGER),
  };
}

const doneBy = ({ from, to }: FieldChange): string => (from === undefined ? 'added' : to === undefined ? 'removed' : 'changed');

/** The parts of a path: keys, and entries of lists in brackets. */
const segmentsOf = (path: string): string[] => [...path.matchAll(/"(?:[^"\\]|\\.)*"|\[[^[\]]*\]|[^.[\]"]+/g)].map(([part]) => part);

/** True when a set of fields has a path, or a field above it that the server keeps as one. */
function owns(fields: Json, [part, ...rest]: readonly string[]): boolean {
  if (part === undefined) return true;
  if (!part.startsWith('[')) {
    const below = fields[`f:${part.startsWith('"') ? String(JSON.parse(part)) : part}`];
    return below !== undefined && (Object.keys(objectAt(below)).length === 0 || owns(objectAt(below), rest));
  }
  const name = part.slice(1, -1);
  const entries = Object.entries(fields).filter(([key]) => key.startsWith('k:'));
  const named = entries.filter(([key]) => key.includes(JSON.stringify(name)));
  return (named.length > 0 ? named : entries).some(([, below]) => owns(objectAt(below), rest));
}
