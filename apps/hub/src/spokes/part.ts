/** A part of what an upgrade does on its spokes (a job, the rollout, cleaning), and the key of one spoke. */
import { type KubeObject, Label } from '@flotilla/api';
import type { Watch } from '@flotilla/runtime';
import { z } from 'zod';

/**
 * Plans one spoke by its stored status and the caches, and applies the plan; true when it wrote. Idempotent; the signal stops it between two writes.
 * @param planned plan that this process has made at this moment; default: the step makes it
 */
export type SpokeStep<P = never> = (key: SpokeKey, signal: AbortSignal, planned?: P) => Promise<boolean>;

/** Missing writes of a part on the hub for one spoke. */
export interface PartPlan {
  /** Description of the missing writes that are due; equal descriptions mean equal effects. Empty: none. */
  readonly writes: string;
  /** Makes these writes, at the moment of the plan; absent where there are none. */
  readonly apply?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** When another plan may differ without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
  /** Nobody waits for it: what upgrades wait for goes first; default false. */
  readonly yields?: boolean | undefined;
}

/** A part as the leader reconciles it. */
export interface SpokePart {
  readonly name: 'precache' | 'backup' | 'rollout' | 'precache-cleaning' | 'backup-cleaning' | 'pins';
  /** Its keys are those of spokes, or stand for all spokes of an upgrade. */
  readonly watches: readonly Watch[];
  readonly plan: (key: SpokeKey) => PartPlan;
  /** Step of any process that has the key from a queue; absent: the leader alone takes its steps. */
  readonly step?: SpokeStep;
  /** Spokes that a key of the whole upgrade stands for, of an upgrade that is gone none; default: none. */
  readonly clustersOf?: (upgradeUid: string) => Iterable<string>;
}

const SpokeKey = z.strictObject({
  upgrade: z.string().regex(/^[\w.-]{1,128}$/),
  cluster: z.string().regex(/^[\w.-]{1,253}$/),
});
/** One spoke of one upgrade, by the upgrade's uid: the only content of a queue. A forged key can only cause a reconcile. */
export type SpokeKey = Readonly<z.output<typeof SpokeKey>>;

/** Serializes a key; equal keys give equal texts. */
export const keyText = ({ upgrade, cluster }: SpokeKey): string => `${upgrade}/${cluster}`;

/** The text of the spoke that a hub object is for. */
export const keyOf = ({ metadata: { labels, namespace = '' } }: KubeObject): string =>
  keyText({ upgrade: labels?.[Label.upgradeUid] ?? '', cluster: namespace });

/** The text that stands for all spokes of an upgrade; no key of one spoke has it. */
export const wholeText = (upgrade: string): string => `${upgrade}/`;

/** Cached, because every reconcile of every spoke parses its key. Bounded, because anybody with access to the queue can make up keys. */
const parsed = new Map<string, SpokeKey>();
const MOST_PARSED = 20_000;

/** Parses a key; undefined for any other text. */
export function parseSpokeKey(text: string): SpokeKey | undefined {
  const known = parsed.get(text);
  if (known) return known;
  const [upgrade, cluster, ...more] = text.split('/');
  const key = more.length > 0 ? undefined : SpokeKey.safeParse({ upgrade, cluster }).data;
  if (!key) return undefined;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(text, Object.freeze(key));
  return key;
}
