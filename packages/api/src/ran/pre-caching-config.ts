import { z } from 'zod';
import { image, list, text } from '../bounded.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { Annotation } from '../names.ts';

/** Overrides of the pre-caching that policies ask for (spec/talm 1.3), within limits (see `limitsOf`). */
export const PreCachingConfigSpec = z.object({
  overrides: z
    .object({
      platformImage: image().optional().describe('Release image, instead of the one the policies name.'),
      operatorsIndexes: list(image(), 1_000).optional().describe('Operator index images, instead of those the policies name.'),
      operatorsPackagesAndChannels: list(text(1024), 10_000)
        .optional()
        .describe('package:channel entries, or package for its default channel, instead of those the policies name.'),
      preCacheImage: image().optional().describe('Image of the pre-caching workload, instead of the configured one.'),
    })
    .optional()
    .describe('Values that replace derived ones; they are never merged.'),
  spaceRequired: text(64).optional().describe('Free space each cluster must have, for example 35 GiB; default 35 GiB.'),
  excludePrecachePatterns: list(text(1024), 10_000)
    .optional()
    .describe('Basic regular expressions; release images that match are left out.'),
  additionalImages: list(image(), 10_000).optional().describe('Further images to pre-cache.'),
});
export type PreCachingConfigSpec = z.output<typeof PreCachingConfigSpec>;

/** Images of an upgrade, from policies and overrides (spec/talm 1.2, 3.2, 3.3). */
export const PrecachingSpec = z.object({
  platformImage: z.string().optional().describe('Release image to pre-cache.'),
  operatorsIndexes: z.array(z.string()).optional().describe('Operator index images.'),
  operatorsPackagesAndChannels: z
    .array(z.string())
    .optional()
    .describe('package:channel entries to pre-cache from the indexes; package alone: its default channel.'),
  excludePrecachePatterns: z.array(z.string()).optional().describe('Basic regular expressions; release images that match are left out.'),
  spaceRequired: z.string().optional().describe('Free space each cluster must have, in GiB.'),
  additionalImages: z.array(z.string()).optional().describe('Further images to pre-cache.'),
});
export type PrecachingSpec = z.output<typeof PrecachingSpec>;

/** Keys of ConfigMap `pre-cache-spec`, one for each field: all always present, newline-joined (spec/talm 3.5). */
export const PrecacheSpecKey = {
  operatorsIndexes: 'operators.indexes',
  operatorsPackagesAndChannels: 'operators.packagesAndChannels',
  excludePrecachePatterns: 'excludePrecachePatterns',
  additionalImages: 'additionalImages',
  platformImage: 'platform.image',
  spaceRequired: 'spaceRequired',
} as const satisfies Record<keyof PrecachingSpec, string>;

/** Builds the data of that ConfigMap: every key present, joined by newlines, without a final newline. Digests depend on its order. */
export function precacheSpecData(spec: PrecachingSpec): Record<string, string> {
  const fields = Object.entries(PrecacheSpecKey) as [keyof PrecachingSpec, string][];
  return Object.fromEntries(fields.map(([field, key]) => [key, [spec[field] ?? []].flat().join('\n')]));
}

const Schema = KubeObject.extend({ spec: PreCachingConfigSpec.optional() });
/** Overrides for pre-caching, referenced by ClusterGroupUpgrades. */
export type PreCachingConfig = z.output<typeof Schema>;
export const PreCachingConfig = resource('ran.openshift.io/v1alpha1', 'PreCachingConfig', 'precachingconfigs', true, Schema);

/** Smallest cap in bytes a second: a release of 20 GB takes two weeks by it. */
export const LEAST_BANDWIDTH = 16 * 1024;
/** Largest cap: no link of a cluster has more. */
export const MOST_BANDWIDTH = 10 ** 12;

/** Key of ConfigMap `pre-cache-spec` with the cap that the hub hands out now, in bytes a second; the puller reads it again and again. */
export const BANDWIDTH_KEY = 'bandwidth';

/** Outcome of reading a cap; a problem says how to write it. */
interface ReadBandwidth {
  readonly bytesPerSecond?: number;
  readonly problem?: string;
}

/** Reads a cap by the name of its place, in bytes a second; none where there is no text. */
export function parseBandwidth(name: string, text: string | undefined): ReadBandwidth {
  if (text === undefined) return {};
  const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= LEAST_BANDWIDTH && value <= MOST_BANDWIDTH) return { bytesPerSecond: value };
  const shown = JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  return { problem: `${name} is ${shown}; write bytes a second as a whole number from ${LEAST_BANDWIDTH} to ${MOST_BANDWIDTH}` };
}

/** Reads the cap of a PreCachingConfig's annotations. */
export const readBandwidth = (annotations: Readonly<Record<string, string>> = {}): ReadBandwidth =>
  parseBandwidth(Annotation.bandwidth, annotations[Annotation.bandwidth]?.trim());

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
