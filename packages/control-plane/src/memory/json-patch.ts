import { isJsonObject, isSameJson } from '@flotilla/api';
import { badRequest, unprocessable } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';

/** Applies a JSON patch (RFC 6902). Throws a refusal for one that does not fit. */
export function jsonPatched(object: Json, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  return patch.reduce<unknown>((document, operation) => operated(document, isJsonObject(operation) ? operation : {}), object);
}

const invalid = (): Error => unprocessable('the server rejected our request due to an error in our request');

function operated(document: unknown, { op, path, from, value }: Json): unknown {
  const steps = stepsOf(path);
  switch (op) {
    case 'add':
      return put(document, steps, structuredClone(value), 'add');
    case 'replace':
      return put(document, steps, structuredClone(value), 'replace');
    case 'remove':
      return removed(document, steps);
    case 'test':
      if (!isSameJson(at(document, steps), value) && !(value === null && at(document, steps) === undefined)) throw invalid();
      return document;
    case 'copy':
      return put(document, steps, structuredClone(needed(at(document, stepsOf(from)))), 'add');
    case 'move':
      return put(removed(document, stepsOf(from)), steps, structuredClone(needed(at(document, stepsOf(from)))), 'add');
    default:
      throw invalid();
  }
}

const stepsOf = (path: unknown): string[] => {
  if (typeof path !== 'string' || (path !== '' && !path.startsWith('/'))) throw invalid();
  return path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
};

function needed(value: unknown): unknown {
  if (value === undefined) throw invalid();
  return value;
}

function at(document: unknown, steps: readonly string[]): unknown {
  let value = document;
  for (const step of steps) value = Array.isArray(value) ? value[indexOf(value, step)] : isJsonObject(value) ? value[step] : undefined;
  return value;
}

function indexOf(list: readonly unknown[], step: string): number {
  const index = step === '-' ? list.length : Number(step);
  if (!Number.isInteger(index) || index < 0 || index > list.length) throw invalid();
  return index;
}

function put(document: unknown, steps: readonly string[], value: unknown, how: 'add' | 'replace'): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (Array.isArray(document)) {
    const index = indexOf(document, step);
    if ((rest.length > 0 || how === 'replace') && index >= document.length) throw invalid();
    if (rest.length > 0 || how === 'replace') return document.with(index, put(document[index], rest, value, how));
    return document.toSpliced(index, 0, value);
  }
  if (!isJsonObject(document)) throw invalid();
  if (rest.length > 0 && document[step] === undefined) throw invalid();
  return { ...document, [step]: put(document[step], rest, value, how) };
}

function removed(document: unknown, steps: readonly string[]): unknown {
  const [step = '', ...rest] = steps;
  if (at(document, [step]) === undefined) throw invalid();
  if (Array.isArray(document)) {
    const index = indexOf(document, step);
    return rest.length > 0 ? document.with(index, removed(document[index], rest)) : document.toSpliced(index, 1);
  }
  if (!isJsonObject(document)) throw invalid();
  if (rest.length > 0) return { ...document, [step]: removed(document[step], rest) };
  const { [step]: _, ...left } = document;
  return left;
}
