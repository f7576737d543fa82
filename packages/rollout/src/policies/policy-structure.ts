import type { Policy } from '@flotilla/api/ocm';
import { parse } from 'yaml';
import { quote } from '../values/go-format.ts';
import { isRecord, type JsonRecord, judgeSize, MAX_DEPTH, MAX_VALUES } from '../values/json-value.ts';

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

/** Characters of one raw template that are looked at: the worst of this size keeps the YAML parser busy for about a second. */
const MAX_RAW_LENGTH = 128 * 1024;

/** Policies are read on every pass of every upgrade, and a watch cache hands out the same object until it changes. */
const readBefore = new WeakMap<Policy, PolicyStructure>();

/**
 * The object templates of a policy after the structural checks of spec/talm 2.6.7. Takes whatever a server may hold: a
 * wrong type, a deep or a huge policy is an answer, never a throw. Objects are taken as immutable: one is read once.
 */
export function objectDefinitions(policy: Policy): PolicyStructure {
  const structure = readBefore.get(policy) ?? readStructure(policy);
  readBefore.set(policy, structure);
  return structure;
}

function readStructure(policy: Policy): PolicyStructure {
  const templates: unknown = policy.spec?.['policy-templates'];
  if (!Array.isArray(templates)) return { invalid: 'spec.policy-templates is not a list; give the policy at least one template' };
  const size = judgeSize([templates, policy.spec?.dependencies]);
  if (size === 'too deep') return { invalid: `spec is nested more than ${MAX_DEPTH} deep; flatten its templates` };
  if (size === 'too large') return { invalid: `spec has more than ${MAX_VALUES} values; divide it into several policies` };

  const objects: PolicyObject[] = [];
  for (const [index, template] of templates.entries()) {
    const read = readTemplate(template, `spec.policy-templates[${index}]`);
    if (read.invalid !== undefined) return read;
    objects.push(...read.objects);
  }
  return { objects };
}

function readTemplate(template: unknown, at: string): PolicyStructure {
  const definition = isRecord(template) ? template.objectDefinition : undefined;
  if (!isRecord(definition)) return { invalid: `${at}.objectDefinition is missing or no object` };
  if (!isRecord(definition.metadata)) return { invalid: `${at}.objectDefinition.metadata is missing or no object` };
  const spec = definition.spec;
  if (!isRecord(spec)) return { invalid: `${at}.objectDefinition.spec is missing or no object` };
  const plain = spec['object-templates'];
  const raw = spec['object-templates-raw'];
  const field = `${at}.objectDefinition.spec.object-templates`;
  if (isPresent(plain) === isPresent(raw))
    return { invalid: `${field} and ${field}-raw are ${isPresent(plain) ? 'both' : 'neither'} set; set exactly one of them` };
  return isPresent(plain) ? readList(plain, field) : readRaw(raw, `${field}-raw`);
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

function readList(list: unknown, at: string): PolicyStructure {
  if (!Array.isArray(list)) return { invalid: `${at} is not a list` };
  const wrong = list.findIndex((entry) => !isRecord(entry) || !isRecord(entry.objectDefinition));
  if (wrong >= 0) return { invalid: `${at}[${wrong}].objectDefinition is missing or no object` };
  return { objects: toObjects(list, false) };
}

function readRaw(text: unknown, at: string): PolicyStructure {
  if (typeof text !== 'string') return { invalid: `${at} is not a text` };
  if (text.length > MAX_RAW_LENGTH) return { invalid: `${at} has ${text.length} characters; at most ${MAX_RAW_LENGTH} are read` };
  const list = parseYaml(withoutExpressions(text));
  if (list instanceof Error) return { invalid: `${at} is no YAML once its expressions are taken out: ${quote(list.message)}` };
  // Expressions alone may make up the whole text; they leave nothing to look at, which is not a mistake.
  if (list === null || list === undefined) return { objects: [] };
  if (!Array.isArray(list)) return { invalid: `${at} is not a list once its expressions are taken out` };
  const size = judgeSize(list);
  if (size !== 'absent') return { invalid: `${at} is ${size}; divide it into several policies` };
  return { objects: toObjects(list, true) };
}

/** Entries without an objectDefinition are skipped: a plain list was checked before, a raw one may have them. */
const toObjects = (list: readonly unknown[], raw: boolean): PolicyObject[] =>
  list.filter(isRecord).flatMap(({ objectDefinition, complianceType }) => {
    if (!isRecord(objectDefinition)) return [];
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
