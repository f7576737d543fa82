import { isJsonObject } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import { parse } from 'yaml';
import { quote } from '../values/go-format.ts';
import { type JsonRecord, judgeSize, MAX_DEPTH, MAX_VALUES } from '../values/json-value.ts';
import { yamlPieces } from './yaml-pieces.ts';

/** One object a policy wants on its clusters. */
export interface PolicyObject {
  readonly definition: JsonRecord;
  /** The policy wants it gone. */
  readonly mustNotHave: boolean;
  /** It comes from `object-templates-raw`, where what a template expression stood for reads `placeholder`. */
  readonly raw: boolean;
}

/** A policy's objects in order, or what is wrong with it: field, value and fix. */
export type PolicyStructure =
  | { readonly objects: readonly PolicyObject[]; readonly invalid?: undefined }
  | { readonly invalid: string; readonly objects?: undefined };

/** Reads the structure of a policy; undefined while the reading is under way. */
export type ReadPolicy = (policy: Policy) => PolicyStructure | undefined;

/** Characters of all raw templates of a policy that are read. */
const MAX_RAW_LENGTH = 256 * 1024;
/** Objects of a policy that are read. */
const MAX_OBJECTS = 2_000;

/**
 * The object templates of a policy after the structural checks of spec/talm 2.6.7. Takes whatever a server may hold: a
 * wrong type, a deep or a huge policy is an answer, never a throw.
 */
export function objectDefinitions(policy: Policy): PolicyStructure {
  const reading = readInPieces(policy);
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value;
  }
}

/** `objectDefinitions` in pieces: each `next` keeps its caller for a tenth of a second at most, whatever the policy holds. */
export function* readInPieces(policy: Policy): Generator<undefined, PolicyStructure> {
  const dependencies = dependenciesProblem(policy.spec?.dependencies ?? []);
  if (dependencies !== undefined) return { invalid: dependencies };
  const templates: unknown = policy.spec?.['policy-templates'];
  if (!Array.isArray(templates)) return { invalid: 'spec.policy-templates is not a list; give the policy at least one template' };
  const size = judgeSize([templates, policy.spec?.dependencies]);
  if (size === 'too deep') return { invalid: `spec is nested more than ${MAX_DEPTH} deep; flatten its templates` };
  if (size === 'too large') return { invalid: `spec has more than ${MAX_VALUES} values; divide it into several policies` };

  const objects: PolicyObject[] = [];
  let rawLength = 0;
  for (const [index, template] of templates.entries()) {
    const at = `spec.policy-templates[${index}]`;
    const found = findTemplate(template, at);
    if (found.invalid !== undefined) return found;
    rawLength += found.raw?.length ?? 0;
    if (rawLength > MAX_RAW_LENGTH)
      return {
        invalid: `${found.at} brings the raw templates of the policy to ${rawLength} characters; at most ${MAX_RAW_LENGTH} are read, divide it into several policies`,
      };
    const read = found.raw === undefined ? readList(found.list, found.at) : yield* readRaw(found.raw, found.at);
    if (read.invalid !== undefined) return read;
    objects.push(...read.objects);
    if (objects.length > MAX_OBJECTS)
      return {
        invalid: `${found.at} brings the policy to ${objects.length} objects; at most ${MAX_OBJECTS} are read, divide it into several policies`,
      };
  }
  return { objects };
}

function dependenciesProblem(dependencies: unknown): string | undefined {
  if (!Array.isArray(dependencies)) return 'spec.dependencies is not a list';
  const wrong = dependencies.findIndex((each) => !isJsonObject(each) || typeof each.name !== 'string');
  return wrong < 0 ? undefined : `spec.dependencies[${wrong}].name is missing or no text`;
}

/** The objects of one template as they are written, or what is wrong with it. */
type Template =
  | { readonly invalid: string }
  | { readonly at: string; readonly raw: string; readonly list?: undefined; readonly invalid?: undefined }
  | { readonly at: string; readonly raw?: undefined; readonly list: unknown; readonly invalid?: undefined };

function findTemplate(template: unknown, at: string): Template {
  const definition = isJsonObject(template) ? template.objectDefinition : undefined;
  if (!isJsonObject(definition)) return { invalid: `${at}.objectDefinition is missing or no object` };
  if (!isJsonObject(definition.metadata)) return { invalid: `${at}.objectDefinition.metadata is missing or no object` };
  const spec = definition.spec;
  if (!isJsonObject(spec)) return { invalid: `${at}.objectDefinition.spec is missing or no object` };
  const list = spec['object-templates'];
  const raw = spec['object-templates-raw'];
  const field = `${at}.objectDefinition.spec.object-templates`;
  if (isPresent(list) === isPresent(raw))
    return { invalid: `${field} and ${field}-raw are ${isPresent(list) ? 'both' : 'neither'} set; set exactly one of them` };
  if (isPresent(list)) return { at: field, list };
  return typeof raw === 'string' ? { at: `${field}-raw`, raw } : { invalid: `${field}-raw is not a text` };
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

function readList(list: unknown, at: string): PolicyStructure {
  if (!Array.isArray(list)) return { invalid: `${at} is not a list` };
  const wrong = list.findIndex((entry) => !isJsonObject(entry) || !isJsonObject(entry.objectDefinition));
  if (wrong >= 0) return { invalid: `${at}[${wrong}].objectDefinition is missing or no object` };
  return { objects: toObjects(list, false) };
}

function* readRaw(raw: string, at: string): Generator<undefined, PolicyStructure> {
  const text = withoutExpressions(raw);
  const objects: PolicyObject[] = [];
  for (const { piece, line } of yamlPieces(text)) {
    yield;
    const where = line === 1 ? at : `${at} from line ${line}`;
    if (piece === undefined) return { invalid: `${where} has an entry that is too large to be read; divide it into several policies` };
    const list = parseYaml(piece);
    if (list instanceof Error) return { invalid: `${where} is no YAML once its expressions are taken out: ${quote(list.message)}` };
    // Expressions alone may make up the whole text; they leave nothing to look at, which is not a mistake.
    if (list === null || list === undefined) continue;
    if (!Array.isArray(list)) return { invalid: `${where} is not a list once its expressions are taken out` };
    const size = judgeSize(list);
    if (size !== 'absent') return { invalid: `${where} is ${size}; divide it into several policies` };
    objects.push(...toObjects(list, true));
  }
  return { objects };
}

/** Entries without an objectDefinition are skipped: a plain list was checked before, a raw one may have them. */
const toObjects = (list: readonly unknown[], raw: boolean): PolicyObject[] =>
  list.filter(isJsonObject).flatMap(({ objectDefinition, complianceType }) => {
    if (!isJsonObject(objectDefinition)) return [];
    const mustNotHave = typeof complianceType === 'string' && complianceType.toLowerCase() === 'mustnothave';
    return [{ definition: objectDefinition, mustNotHave, raw }];
  });

function parseYaml(text: string): unknown {
  try {
    // Both branches of an `if` are left in the text, so a key may well be there twice: the last one wins, as in the reference.
    // Pretty errors take quadratic time: 500 KB of quotes would keep us for two minutes.
    return parse(text, { uniqueKeys: false, maxAliasCount: 100, logLevel: 'error', prettyErrors: false });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * A raw template as text that YAML can read: `{{ $var }}` and `{{ .field }}` become `placeholder`, every other expression
 * is deleted. By hand rather than by pattern: a text of nothing but `{` must not take quadratic time.
 */
export function withoutExpressions(text: string): string {
  let result = '';
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    const close = open < 0 ? -1 : text.indexOf('}', open + 2);
    if (close < 0) return result + text.slice(from);
    const whole = text.startsWith('}}', close);
    const expression = text.slice(open + 2, close);
    result += text.slice(from, whole ? open : close + 1);
    if (whole && /^-?\s*[$.][\w.$]*\s*-?$/.test(expression)) result += 'placeholder';
    from = whole ? close + 2 : close + 1;
  }
}

/** True for objects of a kind of an API group, whatever the version. */
export const isKind = ({ definition }: PolicyObject, group: string, kind: string): boolean =>
  definition.kind === kind && typeof definition.apiVersion === 'string' && definition.apiVersion.startsWith(`${group}/`);
