import { isJsonObject } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import { parse } from 'yaml';
import { quote } from '../values/formats.ts';
import { type JsonRecord, judgeSize, MAX_DEPTH, MAX_VALUES } from '../values/json-value.ts';
import { withoutExpressions, withoutPlainExpressions } from './expressions.ts';

/** One object a policy wants on its clusters. */
export interface PolicyObject {
  readonly definition: JsonRecord;
  /** The policy wants it gone. */
  readonly mustNotHave: boolean;
  /** It comes from `object-templates-raw`, where what a template expression stood for reads `placeholder`. */
  readonly raw: boolean;
  /** Derived from an OperatorPolicy, whose controller approves by itself. */
  readonly ofOperator?: true;
}

/** A policy's objects in order, or what is wrong with it: field, value and fix. */
export type PolicyStructure =
  | {
      readonly objects: readonly PolicyObject[];
      /** The first text that cannot be read, and why: nothing is derived from it. */
      readonly unread?: string | undefined;
      readonly invalid?: undefined;
    }
  | { readonly invalid: string; readonly objects?: undefined; readonly unread?: undefined };

/** Reads the structure of a policy; undefined while the reading is under way. */
export type ReadPolicy = (policy: Policy) => PolicyStructure | undefined;

/** Characters of all raw templates of a policy that are read. */
const MAX_RAW_LENGTH = 256 * 1024;
/** Objects of a policy that are read. */
const MAX_OBJECTS = 2_000;

/**
 * The objects of a policy after the structural checks of spec/talm 2.6.7. Compliance is all that a rollout needs: templates of other kinds than
 * ConfigurationPolicy, and raw texts that cannot be read, have no objects. Takes whatever a server may hold: a wrong type, a deep or a huge policy
 * is an answer, never a throw.
 * @param talmStrict both are invalid, as for the reference
 */
export function objectDefinitions(policy: Policy, talmStrict = false): PolicyStructure {
  const reading = readInPieces(policy, talmStrict);
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value;
  }
}

/** `objectDefinitions` in pieces: each `next` keeps its caller for a tenth of a second at most, whatever the policy holds. */
export function* readInPieces(policy: Policy, talmStrict = false): Generator<undefined, PolicyStructure> {
  const dependencies = dependenciesProblem(policy.spec?.dependencies ?? []);
  if (dependencies !== undefined) return { invalid: dependencies };
  const templates: unknown = policy.spec?.['policy-templates'];
  if (!Array.isArray(templates)) return { invalid: 'spec.policy-templates is not a list; give the policy at least one template' };
  const size = judgeSize([templates, policy.spec?.dependencies]);
  if (size === 'too deep') return { invalid: `spec is nested more than ${MAX_DEPTH} deep; flatten its templates` };
  if (size === 'too large') return { invalid: `spec has more than ${MAX_VALUES} values; divide it into several policies` };

  const objects: PolicyObject[] = [];
  let rawLength = 0;
  let unread: string | undefined;
  for (const [index, template] of templates.entries()) {
    const at = `spec.policy-templates[${index}]`;
    const other = talmStrict ? undefined : objectsOfOtherKind(template);
    if (other) {
      objects.push(...other);
      continue;
    }
    const found = findTemplate(template, at);
    if (found.invalid !== undefined) return found;
    rawLength += found.raw?.length ?? 0;
    if (rawLength > MAX_RAW_LENGTH) {
      const long = `${found.at} brings the raw templates of the policy to ${rawLength} characters; at most ${MAX_RAW_LENGTH} are read, divide it into several policies`;
      if (talmStrict) return { invalid: long };
      unread ??= long;
      continue;
    }
    const read = found.raw === undefined ? readList(found.list, found.at) : yield* readRaw(found.raw, found.at, talmStrict);
    if (read.invalid !== undefined) return read;
    unread ??= read.unread;
    objects.push(...read.objects);
    if (objects.length > MAX_OBJECTS)
      return {
        invalid: `${found.at} brings the policy to ${objects.length} objects; at most ${MAX_OBJECTS} are read, divide it into several policies`,
      };
  }
  return { objects, ...(unread !== undefined && { unread }) };
}

/** Kind of a template whose objects are written in it. */
const CONFIGURATION = 'ConfigurationPolicy';

/** Objects that a template of another kind wants, as far as anything is derived from it; undefined for a ConfigurationPolicy, or what may be meant as one. */
function objectsOfOtherKind(template: unknown): PolicyObject[] | undefined {
  const definition = isJsonObject(template) ? template.objectDefinition : undefined;
  if (!isJsonObject(definition) || typeof definition.kind !== 'string' || definition.kind === CONFIGURATION) return undefined;
  const { apiVersion, kind, spec } = definition;
  const isOperator = kind === 'OperatorPolicy' && String(apiVersion).startsWith('policy.open-cluster-management.io/');
  if (!isOperator || !isJsonObject(spec) || !isJsonObject(spec.subscription)) return [];
  const { name, namespace } = spec.subscription;
  const subscription = { apiVersion: SUBSCRIPTION, kind: 'Subscription', metadata: { name, namespace }, spec: spec.subscription };
  return [{ definition: subscription, mustNotHave: isMustNotHave(spec.complianceType), raw: false, ofOperator: true }];
}

const SUBSCRIPTION = 'operators.coreos.com/v1alpha1';

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

function* readRaw(raw: string, at: string, talmStrict: boolean): Generator<undefined, PolicyStructure> {
  const text = talmStrict ? withoutPlainExpressions(raw) : withoutExpressions(raw);
  const objects: PolicyObject[] = [];
  for (const { piece, line } of yamlPieces(text)) {
    yield;
    const read = readPiece(piece);
    if (typeof read === 'string') {
      const unread = `${line === 1 ? at : `${at} from line ${line}`} ${read}`;
      // A parser takes long over the rest, which may be anything.
      return talmStrict ? { invalid: unread } : { objects, unread };
    }
    objects.push(...read);
  }
  return { objects };
}

/** Objects of a piece of a raw template, or why it cannot be read. */
function readPiece(piece: string | undefined): PolicyObject[] | string {
  if (piece === undefined) return 'has an entry that is too large to be read; divide it into several policies';
  const list = parseYaml(piece);
  if (list instanceof Error) return `is no YAML once its expressions are taken out: ${quote(list.message)}`;
  // Expressions alone may make up the whole text; they leave nothing to look at, which is not a mistake.
  if (list === null || list === undefined) return [];
  if (!Array.isArray(list)) return 'is not a list once its expressions are taken out';
  const size = judgeSize(list);
  return size === 'absent' ? toObjects(list, true) : `is ${size}; divide it into several policies`;
}

/** Entries without an objectDefinition are skipped: a plain list was checked before, a raw one may have them. */
const toObjects = (list: readonly unknown[], raw: boolean): PolicyObject[] =>
  list.filter(isJsonObject).flatMap(({ objectDefinition, complianceType }) => {
    if (!isJsonObject(objectDefinition)) return [];
    return [{ definition: objectDefinition, mustNotHave: isMustNotHave(complianceType), raw }];
  });

const isMustNotHave = (complianceType: unknown): boolean =>
  typeof complianceType === 'string' && complianceType.toLowerCase() === 'mustnothave';

function parseYaml(text: string): unknown {
  const { stackTraceLimit } = Error;
  try {
    // The parser makes an error for each of its complaints, up to one a character: their stacks would take most of its time.
    Error.stackTraceLimit = 0;
    // Both branches of an `if` are left in the text, so a key may well be there twice: the last one wins, as in the reference.
    // Pretty errors take quadratic time: 500 KB of quotes would keep us for two minutes.
    return parse(text, { uniqueKeys: false, maxAliasCount: 100, logLevel: 'error', prettyErrors: false });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** True for objects of a kind of an API group, whatever the version. */
export const isKind = ({ definition }: PolicyObject, group: string, kind: string): boolean =>
  definition.kind === kind && typeof definition.apiVersion === 'string' && definition.apiVersion.startsWith(`${group}/`);

/** Part of a text of YAML; without `piece`, where an entry is too large to be one. */
interface YamlPiece {
  readonly piece: string | undefined;
  /** Line of its beginning, from 1. */
  readonly line: number;
}

/** Characters that begin or end something in YAML: a parser's time goes by them, hardly by what is between. */
const MARK = /[\n,:[\]{}"'&*!?#|>%-]/g;
/** Marks of one piece: the worst of them keep the parser busy for a tenth of a second. */
const MAX_MARKS = 16_000;

/**
 * Divides a text whose top level is a list between entries of that list, into pieces that each are quickly parsed. A text that is
 * small enough is one piece, whatever it holds. An anchor counts in its own piece alone.
 */
function* yamlPieces(text: string): Generator<YamlPiece> {
  if (marksOf(text) <= MAX_MARKS) return yield { piece: text, line: 1 };
  const indent = /(?:^|\n)( *)-[ \r\n]/.exec(text)?.[1] ?? '';
  // Lines inside a scalar or a flow collection of an entry are indented further than the entry.
  const entries = text.split(new RegExp(`(?<=\n)(?=${indent}-(?:[ \\r\n]|$))`));
  let [piece, marks, line, pieceLine] = ['', 0, 1, 1];
  for (const entry of entries) {
    const own = marksOf(entry);
    if (marks + own > MAX_MARKS && piece !== '') {
      yield { piece, line: pieceLine };
      [piece, marks, pieceLine] = ['', 0, line];
    }
    if (own > MAX_MARKS) return yield { piece: undefined, line };
    piece += entry;
    marks += own;
    line += linesOf(entry);
  }
  yield { piece, line: pieceLine };
}

const marksOf = (text: string): number => text.match(MARK)?.length ?? 0;
const linesOf = (text: string): number => text.split('\n').length - 1;
