import { type KubeObject, Label } from '@flotilla/api';
import { z } from 'zod';

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
