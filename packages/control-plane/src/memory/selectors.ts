import { isJsonObject } from '@flotilla/api';
import { badRequest, UnsupportedError } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** Says whether an object is selected. */
type Selects = (object: Json) => boolean;

const EVERYTHING: Selects = () => true;
const KEY = `[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?`;
const VALUE = `(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?`;
const EQUALS = new RegExp(`^(${KEY})\\s*(=|==|!=)\\s*(${VALUE})$`);
const AMONG = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);

/** Reads a label selector: `key`, `!key`, `key=value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`, all of which must hold. */
export function labelSelector(text = ''): Selects {
  if (text.trim() === '') return EVERYTHING;
  const requirements = text.split(/,(?![^(]*\))/).map((each) => requirement(each.trim()));
  return (object) => {
    const labels = isJsonObject(object.metadata) && isJsonObject(object.metadata.labels) ? object.metadata.labels : {};
    return requirements.every((holds) => holds(labels));
  };
}

function requirement(text: string): (labels: Json) => boolean {
  const [, key = '', operator, value = ''] = EQUALS.exec(text) ?? [];
  if (operator) return (labels) => (operator === '!=') !== (labels[key] === value);
  const [, name = '', among, list = ''] = AMONG.exec(text) ?? [];
  if (among) {
    const values = new Set(list.split(',').map((each) => each.trim()));
    return (labels) => (among === 'in') === (typeof labels[name] === 'string' && values.has(labels[name]));
  }
  const [, absent, label = ''] = EXISTS.exec(text) ?? [];
  if (absent === undefined) throw new UnsupportedError(`read label selector ${JSON.stringify(text)}`);
  return (labels) => Object.hasOwn(labels, label) === (absent === '');
}

/** A kind as far as field selectors go. */
interface SelectableKind {
  readonly isCustom: boolean;
  /** Paths of fields besides name and namespace. */
  readonly selectableFields: readonly string[];
}

/** Reads a field selector: `path=value` and `path!=value`, all of which must hold. Refuses a field that the kind has not. */
export function fieldSelector(kind: SelectableKind, text = ''): Selects {
  if (text.trim() === '') return EVERYTHING;
  const terms = text.split(',').map((each) => {
    const [, path = '', operator, value = ''] = /^([^!=]+?)(==|=|!=)(.*)$/.exec(each) ?? [];
    if (operator === undefined) throw badRequest(`invalid field selector: ${JSON.stringify(each)}; can't understand '${each}'`);
    if (path !== 'metadata.name' && path !== 'metadata.namespace' && !kind.selectableFields.includes(path)) throw notSelectable(kind, path);
    return (object: Json) => (operator === '!=') !== (fieldAt(object, path) === value);
  });
  return (object) => terms.every((holds) => holds(object));
}

function notSelectable({ isCustom, selectableFields }: SelectableKind, path: string): Error {
  if (isCustom || selectableFields.length > 0) return badRequest(`field label not supported: ${path}`);
  return badRequest(`"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}

/** Absent fields read as an empty text. */
function fieldAt(object: Json, path: string): string {
  let value: unknown = object;
  for (const key of path.split('.')) value = isJsonObject(value) ? value[key] : undefined;
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
