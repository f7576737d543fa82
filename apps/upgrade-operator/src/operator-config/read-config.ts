import { errorMessage, FlotillaError, isJsonObject } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { OPERATOR_CONFIG_MAP } from '@flotilla/api/managed';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { type OperatorConfig, OperatorConfigFile } from './schema.ts';

/** The operator's configuration as of now. */
export interface ConfigNow {
  /** The last one that could be used. */
  readonly config?: OperatorConfig;
  /** Error in the present one; without this and `config`, none was ever read. */
  readonly problem?: string;
  /** Names the parts that count for nothing, though it can be used. */
  readonly remark?: string;
}

/** Watches the ConfigMap in a namespace. A version that cannot be used changes nothing but the problem. */
export function watchOperatorConfig(client: Client, namespace: string, surroundings: WatchSurroundings) {
  const { name, key } = OPERATOR_CONFIG_MAP;
  const cache = new WatchCache(client, ConfigMap, { ...surroundings, namespace, fieldSelector: `metadata.name=${name}` });
  let seen: unknown;
  let now: ConfigNow = {};
  return {
    cache,
    current: (): ConfigNow => {
      if (!cache.hasSynced) return now;
      const map = cache.get({ namespace, name });
      if (map === undefined)
        return {
          ...(now.config && { config: now.config }),
          problem: `config map ${namespace}/${name} is missing: create it with key ${key}`,
        };
      if (map !== seen) {
        seen = map;
        now = nowAfter(now, map.data?.[key]);
        if (now.remark !== undefined) surroundings.logger?.warn({ remark: now.remark }, 'The configuration has keys that are not known');
      }
      return now;
    },
  };
}

/** Configuration after a text has come: an unusable text keeps the last usable one. Pure. */
export function nowAfter({ config }: ConfigNow, text: string | undefined): ConfigNow {
  try {
    const read = readOperatorConfig(text);
    const remark = text === undefined ? undefined : remarkOn(text);
    return { config: read, ...(remark !== undefined && { remark }) };
  } catch (error) {
    return { ...(config && { config }), problem: errorMessage(error) };
  }
}

/** The operator's ConfigMap cannot be used; the message names every wrong key, its value and what is expected. Code `FLOTILLA_OPERATOR_CONFIG`. */
class OperatorConfigError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_OPERATOR_CONFIG', message, options);
  }
}

/** Message of the reference about a key; monitoring and runbooks look for it. */
const REFERENCE_WORDS: readonly (readonly [key: string, words: string])[] = [
  ['maintenance.controlPlaneTime', 'config maintenance controlPlaneTime out is invalid'],
  ['scale.timeOut', 'config scale timeOut is invalid'],
  ['scale.extraMachinePools', 'config scale extraMachinePools contains invalid pattern'],
  ['upgradeWindow.delayTrigger', 'config upgrade window delay trigger is invalid'],
  ['upgradeWindow.timeOut', 'config upgrade window time out is invalid'],
  ['nodeDrain.timeOut', 'config nodeDrain timeOut is invalid'],
  ['nodeDrain.expectedNodeDrainTime', 'config nodeDrain expectedNodeDrainTime is invalid'],
  ['extDependencyAvailabilityChecks.http.timeout', 'config HTTP timeout is invalid (Requires int between 1 - 60 inclusive)'],
  ['configManager.source', 'invalid configManager spec provider type defined'],
  ['upgradeType', 'invalid configManager spec provider type defined'],
];

/** Characters of the file; the worst of them keep the parser for a tenth of a second. */
const MAX_LENGTH = 32 * 1024;
/** Aliases that expand to more than this are nobody's configuration. */
const MAX_ALIASES = 100;

/**
 * Reads the operator's `config.yaml`.
 * @throws OperatorConfigError
 */
export function readOperatorConfig(text: string | undefined): OperatorConfig {
  if (text === undefined) throw new OperatorConfigError(`config map ${OPERATOR_CONFIG_MAP.name} has no key ${OPERATOR_CONFIG_MAP.key}`);
  if (text.length > MAX_LENGTH)
    throw new OperatorConfigError(
      `config map ${OPERATOR_CONFIG_MAP.name} has ${text.length} characters in ${OPERATOR_CONFIG_MAP.key}; at most ${MAX_LENGTH} are read, shorten it`,
    );
  const given = parseYaml(text);
  const parsed = OperatorConfigFile.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map(({ path, message }) => describe(given, path, message));
  throw new OperatorConfigError(problems.join('; '));
}

/** Names the parts of a usable `config.yaml` that count for nothing; undefined: all of it counts. */
const remarkOn = (text: string): string | undefined => describeUnknownKeys(OperatorConfigFile, parseYaml(text));

function parseYaml(text: string): unknown {
  const wrong = (why: string, cause: unknown) =>
    new OperatorConfigError(`check config map ${OPERATOR_CONFIG_MAP.name} for incorrect yaml formatting yaml: ${why}`, { cause });
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const [error] = document.errors;
  if (error) throw wrong(`line ${text.slice(0, error.pos[0]).split('\n').length}: ${error.message}`, error);
  try {
    return withoutNulls(document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {});
  } catch (cause) {
    throw wrong(errorMessage(cause), cause);
  }
}

/** A key without a value is a key that is not there. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(entries.map(([key, each]) => [key, withoutNulls(each)]));
}

function describe(given: unknown, path: readonly PropertyKey[], message: string): string {
  const key = path.map(String).join('.');
  const value = path.reduce<unknown>((at, part) => (typeof at === 'object' && at !== null ? Reflect.get(at, part) : undefined), given);
  const words = REFERENCE_WORDS.find(([known]) => key === known || key.startsWith(`${known}.`))?.[1];
  const what =
    value === undefined
      ? `${key || OPERATOR_CONFIG_MAP.key} is missing`
      : `${key || OPERATOR_CONFIG_MAP.key} is ${JSON.stringify(value).slice(0, 200)}`;
  return `${words ? `${words}: ` : ''}${what}: ${message}`;
}

const MOST = 5;
const LONGEST = 100;

/** Keys of a document that a schema does not know, each with those that it knows there; undefined: it knows all. They count for nothing, as in the reference. */
function describeUnknownKeys(schema: z.ZodType, given: unknown): string | undefined {
  const found = unknownKeys(schema, given, '');
  if (found.length === 0) return undefined;
  const more = found.length > MOST ? `; and ${found.length - MOST} more` : '';
  return `keys that are not known count for nothing: ${found.slice(0, MOST).join('; ')}${more}`;
}

function unknownKeys(schema: z.ZodType, given: unknown, path: string): string[] {
  const section = withoutDefault(schema);
  if (!(section instanceof z.ZodObject) || !isJsonObject(given)) return [];
  const known: Readonly<Record<string, z.ZodType>> = section.shape;
  return Object.entries(given).flatMap(([key, value]) => {
    const own = Object.hasOwn(known, key) ? known[key] : undefined;
    if (own) return unknownKeys(own, value, `${path}${key}.`);
    return [`${`${path}${key}`.slice(0, LONGEST)} (known here: ${Object.keys(known).join(', ')})`];
  });
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  let inner: unknown = schema;
  while (inner instanceof z.ZodPrefault || inner instanceof z.ZodDefault || inner instanceof z.ZodOptional) inner = inner.unwrap();
  return inner instanceof z.ZodType ? inner : schema;
}
