import { z } from 'zod';
import { Annotation } from '../names.ts';

const Toleration = z.strictObject({
  key: z.string().max(316).optional(),
  operator: z.enum(['Exists', 'Equal']),
  value: z.string().max(63).optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
});

/** Nodes of a spoke that are filled, and how long is waited for them. */
export const NodeRules = z.strictObject({
  /** Labels that a node has. */
  selector: z.record(z.string().max(316), z.string().max(63)),
  /** Taints that a node may have, besides those that every DaemonSet tolerates. */
  tolerations: z.array(Toleration).max(20),
  /** Seconds without word from a node before it counts as absent. */
  patienceSeconds: z.int(),
  /** Decides whether an absent node fails its spoke. */
  absent: z.enum(['fail', 'ignore']),
});
export type NodeRules = z.output<typeof NodeRules>;

const exists = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' }) as const;
/** All nodes that take pods, and those of the control plane. */
export const DEFAULT_NODE_RULES: NodeRules = {
  selector: {},
  tolerations: [exists('node-role.kubernetes.io/control-plane'), exists('node-role.kubernetes.io/master')],
  patienceSeconds: 600,
  absent: 'fail',
};

const LEAST_PATIENCE = 10;
const MOST_PATIENCE = 24 * 3_600;
const MAX_ENTRIES = 20;
const NAME = String.raw`(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?`;
const VALUE = String.raw`(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?`;
const LABEL = new RegExp(`^(${NAME})=(${VALUE})$`);
const TOLERATION = new RegExp(`^(${NAME})(?:=(${VALUE}))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$`);

interface ReadNodeRules {
  readonly rules: NodeRules;
  /** At least one of them is in the PreCachingConfig. */
  readonly isGiven: boolean;
  readonly problem?: string;
}

/** Reads the node rules of a PreCachingConfig's annotations; a problem says how to write them. */
export function readNodeRules(annotations: Readonly<Record<string, string>> = {}): ReadNodeRules {
  const problems: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | undefined, hint: string): T | undefined => {
    const text = annotations[name]?.trim();
    if (text === undefined) return undefined;
    const value = parse(text);
    const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
    if (value === undefined) problems.push(`${name} is ${shown}; ${hint}`);
    return value;
  };
  const selector = read(Annotation.nodeSelector, parseSelector, 'write labels as key=value, separated by commas, at most 20');
  const tolerations = read(
    Annotation.nodeTolerations,
    parseTolerations,
    'write taints as key, key=value, key:Effect or key=value:Effect, separated by commas, at most 20; nothing tolerates none',
  );
  const patience = `write seconds as a whole number from ${LEAST_PATIENCE} to ${MOST_PATIENCE}`;
  const patienceSeconds = read(Annotation.nodePatience, parsePatience, patience);
  const absent = read(Annotation.absentNodes, (text) => NodeRules.shape.absent.safeParse(text).data, 'write fail or ignore');
  const given = { selector, tolerations, patienceSeconds, absent };
  const rules = { ...DEFAULT_NODE_RULES, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
  const [problem] = problems;
  const isGiven = Object.values(given).some((value) => value !== undefined);
  return problem === undefined ? { rules, isGiven } : { rules, isGiven, problem };
}

const entriesOf = (text: string): string[] => (text === '' ? [] : text.split(',').map((entry) => entry.trim()));

function parseSelector(text: string): NodeRules['selector'] | undefined {
  const found = entriesOf(text).map((entry) => LABEL.exec(entry));
  if (found.length > MAX_ENTRIES || found.includes(null)) return undefined;
  return Object.fromEntries(found.map((match) => [match?.[1] ?? '', match?.[2] ?? '']));
}

function parseTolerations(text: string): NodeRules['tolerations'] | undefined {
  const found = entriesOf(text).map((entry) => TOLERATION.exec(entry));
  if (found.length > MAX_ENTRIES || found.includes(null)) return undefined;
  return found.map((match) => {
    const [, key, value, effect] = match ?? [];
    const toleration = { key, operator: value === undefined ? 'Exists' : 'Equal', value, effect };
    return Toleration.parse(Object.fromEntries(Object.entries(toleration).filter(([, each]) => each !== undefined)));
  });
}

function parsePatience(text: string): number | undefined {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return value >= LEAST_PATIENCE && value <= MOST_PATIENCE ? value : undefined;
}
