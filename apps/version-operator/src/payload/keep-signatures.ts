import { isSameJson, readJson } from '@flotilla/api';
import { type Client, isAlreadyExists, isConflict } from '@flotilla/runtime';
import { z } from 'zod';
import { SIGNATURES_LABEL, SIGNATURES_NAMESPACE, SignatureConfigMap } from './signature-stores.ts';

const NAME = 'signatures-managed';
const MOST_RELEASES = 20;
/** Annotation with the releases, the one verified last at the end: a server sorts the keys of the data. */
const ORDER = 'flotilla.io/verified-releases';
const Order = z.array(z.string()).catch([]);

/**
 * Keeps signatures in the cluster, so that a release can be verified again when no store answers. Those of the releases verified last stay.
 */
export async function keepSignatures(
  client: Pick<Client, 'get' | 'create' | 'replace'>,
  digest: string,
  signatures: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<void> {
  if (signatures.length === 0) return;
  const ref = { namespace: SIGNATURES_NAMESPACE, name: NAME };
  for (let tries = 0; ; tries++) {
    const found = await client.get(SignatureConfigMap, ref, { signal });
    const before = { binaryData: found?.binaryData ?? {}, order: Order.parse(readJson(found?.metadata.annotations?.[ORDER] ?? '')) };
    const { binaryData, order } = withSignatures(before, digest, signatures);
    if (found && isSameJson(before, { binaryData, order })) return;
    try {
      const labels = { ...found?.metadata.labels, [SIGNATURES_LABEL]: '' };
      const annotations = { ...found?.metadata.annotations, [ORDER]: JSON.stringify(order) };
      const metadata = { ...(found?.metadata ?? ref), labels, annotations };
      if (found) await client.replace(SignatureConfigMap, { ...found, metadata, binaryData }, { signal });
      else await client.create(SignatureConfigMap, { metadata, binaryData }, { signal });
      return;
    } catch (error) {
      if (!(isConflict(error) || isAlreadyExists(error)) || tries >= 4) throw error;
    }
  }
}

interface Kept {
  readonly binaryData: Record<string, string>;
  readonly order: readonly string[];
}

/** Keys with the signatures of a digest in the first place; releases whose order nobody knows count as verified long ago. Pure. */
function withSignatures(before: Kept, digest: string, signatures: readonly Uint8Array[]): Kept {
  const own = digest.replace(':', '-');
  const releaseOf = (key: string): string => key.replace(/-\d+$/, '');
  const others = Object.entries(before.binaryData).filter(([key]) => releaseOf(key) !== own);
  const there = new Set(others.map(([key]) => releaseOf(key)));
  const known = before.order.filter((release) => there.has(release));
  const kept = [...there.difference(new Set(known)), ...known].slice(-(MOST_RELEASES - 1));
  const binaryData = Object.fromEntries([
    ...others.filter(([key]) => kept.includes(releaseOf(key))),
    ...signatures.map((signature, index): [string, string] => [`${own}-${index + 1}`, Buffer.from(signature).toString('base64')]),
  ]);
  return { binaryData, order: [...kept, own] };
}
