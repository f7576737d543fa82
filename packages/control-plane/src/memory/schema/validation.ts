import { isJsonObject, isSameJson, perObject } from '@flotilla/api';
import { type Cause, UnsupportedError } from '../refusals/refusal.ts';
import { knownRule } from './rules.ts';
import { fieldSchema, type Json, listKeys, type Schema } from './schema.ts';

interface Place {
  readonly path: string;
  readonly old: unknown;
}
type Report = (cause: Cause) => void;

const reasons = {
  required: 'FieldValueRequired',
  type: 'FieldValueTypeInvalid',
  invalid: 'FieldValueInvalid',
  unsupported: 'FieldValueNotSupported',
  tooLong: 'FieldValueTooLong',
  tooMany: 'FieldValueTooMany',
  duplicate: 'FieldValueDuplicate',
} as const;

/**
 * The fields of a custom resource that its schema refuses, as the server words them. A part that is the same in `old` is not looked at: the
 * server lets what is stored stay.
 */
export function refusedFields(schema: Schema, value: unknown, old?: unknown): Cause[] {
  const causes: Cause[] = [];
  check(schema, value, { path: '', old }, (cause) => causes.push(cause));
  return causes;
}

/** Values of which rules of CEL are judged, with what they say. Nothing is judged in an object that is wrong otherwise. */
export function brokenRules(schema: Schema, value: unknown, old: unknown, causes: readonly Cause[]): Cause[] {
  if (!hasRules(schema)) return [];
  if (causes.some(({ reason }) => BLOCKING.has(reason))) return [NOT_JUDGED];
  const broken: Cause[] = [];
  judge(schema, value, { path: '', old }, (cause) => broken.push(cause));
  return broken;
}

const NOT_JUDGED: Cause = {
  field: '<nil>',
  reason: reasons.invalid,
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
};
const BLOCKING: ReadonlySet<string> = new Set([reasons.unsupported, reasons.required, reasons.tooLong, reasons.tooMany, reasons.type]);

const partsOf = (schema: Schema): Schema[] => [
  ...Object.values(schema.properties ?? {}),
  ...(schema.items ? [schema.items] : []),
  ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
];
/** Most kinds have none, and a large schema is long to walk. */
const hasRules: (schema: Schema) => boolean = perObject(
  (schema) => schema['x-kubernetes-validations'] !== undefined || partsOf(schema).some(hasRules),
);
const patternOf = perObject(({ pattern = '' }: Schema) => new RegExp(pattern, 'u'));

function judge(schema: Schema, value: unknown, { path, old }: Place, report: Report): void {
  if (!hasRules(schema) || value === undefined || value === null || (old !== undefined && isSameJson(old, value))) return;
  for (const { rule, message } of schema['x-kubernetes-validations'] ?? [])
    if (!knownRule(rule)?.(value))
      report({
        field: path || '<nil>',
        reason: reasons.invalid,
        message: `Invalid value: ${shownAsRuleValue(value)}: ${message ?? `failed rule: ${rule}`}`,
      });
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) judge(schema.items ?? {}, item, { path: `${path}[${index}]`, old: undefined }, report);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, child] of Object.entries(value)) {
    const field = path === '' && key === 'metadata' ? undefined : fieldSchema(schema, key);
    if (field) judge(field, child, { path: joined(path, key), old: isJsonObject(old) ? old[key] : undefined }, report);
  }
}

const joined = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

function check(schema: Schema, value: unknown, place: Place, report: Report): void {
  if (place.old !== undefined && isSameJson(place.old, value)) return;
  if (value === null && schema.nullable) return;
  if (!hasType(schema, value)) {
    for (const cause of typeCauses(schema, value, place.path)) report(cause);
    return;
  }
  checkScalar(schema, value, place.path, report);
  if (Array.isArray(value)) checkList(schema, value, place, report);
  else if (isJsonObject(value)) checkObject(schema, value, place, report);
}

const shownAsRuleValue = (value: unknown): string =>
  Array.isArray(value) ? '"array"' : isJsonObject(value) ? '"object"' : JSON.stringify(value);

function hasType(schema: Schema, value: unknown): boolean {
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value);
  switch (schema.type) {
    case 'object':
      return isJsonObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value) || typeof value === 'bigint';
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint';
    case undefined:
      return true;
    default:
      return typeof value === schema.type;
  }
}

const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number' || typeof value === 'bigint') return Number.isInteger(Number(value)) ? 'integer' : 'number';
  return typeof value;
};

function typeCauses(schema: Schema, value: unknown, path: string): Cause[] {
  if (typeof value === 'number' && schema.type === 'integer' && schema.format !== undefined) return fractionCauses(schema.format, path);
  const found = typeName(value);
  const wanted = schema['x-kubernetes-int-or-string'] ? 'integer,string' : schema.type;
  const message = `Invalid value: "${found}": ${path} in body must be of type ${wanted}: "${found}"`;
  return [{ field: path, reason: reasons.type, message }];
}

const fractionCauses = (format: string, path: string): Cause[] => [
  { field: path, reason: reasons.type, message: `Invalid value: "float64": ${path} in body must be of type ${format}: "float64"` },
  {
    field: '<nil>',
    reason: reasons.invalid,
    message: `Invalid value: "": Checked value must be of type integer with format ${format} in ${path}`,
  },
];

function checkScalar(schema: Schema, value: unknown, path: string, report: Report): void {
  if (schema.enum && !schema.enum.some((each) => isSameJson(each, value))) {
    const supported = schema.enum.map((each) => JSON.stringify(each)).join(', ');
    report({
      field: path,
      reason: reasons.unsupported,
      message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
    });
  }
  const invalid = (shown: unknown, says: string): void =>
    report({ field: path, reason: reasons.invalid, message: `Invalid value: ${JSON.stringify(shown)}: ${path} in body ${says}` });
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum) invalid(value, `should be greater than or equal to ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum) invalid(value, `should be less than or equal to ${schema.maximum}`);
    if (schema.format === 'int32' && value !== (value | 0)) throw new UnsupportedError(`judge ${value} at ${path}, which is no int32`);
  }
  if (typeof value !== 'string') return;
  const length = Array.from(value).length;
  if (schema.maxLength !== undefined && length > schema.maxLength)
    report({ field: path, reason: reasons.tooLong, message: `Too long: may not be more than ${schema.maxLength} bytes` });
  if (schema.minLength !== undefined && length < schema.minLength) invalid(value, `should be at least ${schema.minLength} chars long`);
  if (schema.pattern !== undefined && !patternOf(schema).test(value)) invalid(value, `should match '${schema.pattern}'`);
  if (schema.format !== undefined && !hasFormat(schema.format, value))
    report({
      field: path,
      reason: reasons.type,
      message: `Invalid value: ${JSON.stringify(value)}: ${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`,
    });
}

function hasFormat(format: string, value: string): boolean {
  if (format === 'date-time') return /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value));
  if (format === 'byte') return /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0;
  return true;
}

const tooMany = (field: string, found: number, most: number): Cause => ({
  field,
  reason: reasons.tooMany,
  message: `Too many: ${found}: must have at most ${most} items`,
});

function checkList(schema: Schema, list: readonly unknown[], { path, old }: Place, report: Report): void {
  const keys = listKeys(schema);
  const nameOf = (item: unknown): string => JSON.stringify(keys?.map((key) => (isJsonObject(item) ? item[key] : undefined)));
  if (schema.maxItems !== undefined && list.length > schema.maxItems) report(tooMany(path, list.length, schema.maxItems));
  if (schema.minItems !== undefined && list.length < schema.minItems)
    report({
      field: path,
      reason: reasons.invalid,
      message: `Invalid value: ${list.length}: ${path} in body should have at least ${schema.minItems} items`,
    });
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const at = `${path}[${index}]`;
    const name = keys ? nameOf(item) : JSON.stringify(item);
    if ((keys || schema['x-kubernetes-list-type'] === 'set') && seen.has(name)) report(duplicate(at, keys, item));
    seen.add(name);
    const before = keys && Array.isArray(old) ? old.find((other) => nameOf(other) === name) : undefined;
    check(schema.items ?? {}, item, { path: at, old: before }, report);
  }
}

function duplicate(field: string, keys: readonly string[] | undefined, item: unknown): Cause {
  const shown = keys && isJsonObject(item) ? Object.fromEntries(keys.map((key) => [key, item[key]])) : item;
  return { field, reason: reasons.duplicate, message: `Duplicate value: ${JSON.stringify(shown)}` };
}

function checkObject(schema: Schema, object: Json, { path, old }: Place, report: Report): void {
  const at = (key: string): string => joined(path, key);
  const size = Object.keys(object).length;
  if (schema.maxProperties !== undefined && size > schema.maxProperties) report(tooMany(path, size, schema.maxProperties));
  for (const key of schema.required ?? [])
    if (object[key] === undefined) report({ field: at(key), reason: reasons.required, message: 'Required value' });
  for (const [key, value] of Object.entries(object)) {
    // The server checks metadata itself, the same for every kind.
    if (path === '' && (key === 'metadata' || key === 'apiVersion' || key === 'kind')) continue;
    const field = fieldSchema(schema, key);
    if (field) check(field, value, { path: at(key), old: isJsonObject(old) ? old[key] : undefined }, report);
  }
}
