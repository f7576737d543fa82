/** Reads the limits of the fleet from their ConfigMap. Pure. */
import { errorMessage } from '@flotilla/api';
import { cutAtWord, FleetLimits, FleetLimitsName } from '@flotilla/api/ran';
import { parseDocument } from 'yaml';

/** Limits, or why they cannot be used: key and value. */
type LimitsRead =
  | { readonly limits: FleetLimits; readonly problem?: undefined }
  | { readonly problem: string; readonly limits?: undefined };

/** Longer ones are nobody's limits. */
const MAX_LENGTH = 256 * 1024;
/** Aliases that expand to more than this are nobody's limits. */
const MAX_ALIASES = 100;

const { configMap, key } = FleetLimitsName;

/** Reads the data of the ConfigMap `flotilla-limits`. Takes whatever somebody may have written. */
export function readLimits(data: Readonly<Record<string, string>> = {}): LimitsRead {
  const text = data[key];
  const stray = Object.keys(data).find((each) => each !== key);
  if (text === undefined) return refuse(stray === undefined ? 'it has no key' : `its key is ${JSON.stringify(cutAtWord(stray, 60))}`);
  if (stray !== undefined) return refuse(`key ${JSON.stringify(cutAtWord(stray, 60))} stands beside ${key}, and counts for nothing`);
  if (text.length > MAX_LENGTH) return refuse(`${key} has ${text.length} characters, of which ${MAX_LENGTH} at most are read`);
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const [error] = document.errors;
  if (error) return refuse(`${key} is no YAML: line ${text.slice(0, error.pos[0]).split('\n').length}: ${error.message}`);
  let given: unknown;
  try {
    given = document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
  } catch (cause) {
    return refuse(`${key} is no YAML: ${errorMessage(cause)}`);
  }
  const parsed = FleetLimits.safeParse(given);
  if (parsed.success) return checked(parsed.data);
  const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
  const value = path.reduce<unknown>((part, name) => Object(part)[name], given);
  const shown = typeof value === 'object' && value !== null ? '' : ` is ${cutAtWord(JSON.stringify(value) ?? 'not there', 60)}`;
  return refuse(`${[key, ...path].join('.')}${shown}: ${cutAtWord(message, 200)}`);
}

/** Two rules for one label would not say which counts. */
function checked(limits: FleetLimits): LimitsRead {
  const labels = (limits.byLabel ?? []).map(({ label }) => label);
  const twice = labels.find((label, index) => labels.indexOf(label) !== index);
  return twice === undefined ? { limits } : refuse(`${key}.byLabel has two entries for the label ${twice}`);
}

const refuse = (why: string): LimitsRead => ({ problem: `ConfigMap ${configMap} cannot be used: ${why}` });
