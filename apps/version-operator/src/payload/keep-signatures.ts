import type { Client } from '@flotilla/runtime';
import { isAlreadyExists, isConflict } from '@flotilla/runtime';
import { SIGNATURES_LABEL, SIGNATURES_NAMESPACE, SignatureConfigMap } from './signature-stores.ts';

const NAME = 'signatures-managed';
const MOST_RELEASES = 20;

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
    const before = found?.binaryData ?? {};
    const binaryData = withSignatures(before, digest, signatures);
    if (
      found &&
      Object.keys(binaryData).every((key) => before[key] === binaryData[key]) &&
      Object.keys(before).length === Object.keys(binaryData).length
    )
      return;
    try {
      const metadata = { ...(found?.metadata ?? ref), labels: { ...found?.metadata.labels, [SIGNATURES_LABEL]: '' } };
      if (found) await client.replace(SignatureConfigMap, { ...found, metadata, binaryData }, { signal });
      else await client.create(SignatureConfigMap, { metadata, binaryData }, { signal });
      return;
    } catch (error) {
      if (!(isConflict(error) || isAlreadyExists(error)) || tries >= 4) throw error;
    }
  }
}

/** Keys with the signatures of a digest in the first place. Pure. */
export function withSignatures(
  before: Readonly<Record<string, string>>,
  digest: string,
  signatures: readonly Uint8Array[],
): Record<string, string> {
  const own = digest.replace(':', '-');
  const releaseOf = (key: string): string => key.replace(/-\d+$/, '');
  const others = Object.entries(before).filter(([key]) => releaseOf(key) !== own);
  const kept = new Set([...new Set(others.map(([key]) => releaseOf(key)))].slice(-(MOST_RELEASES - 1)));
  return Object.fromEntries([
    ...others.filter(([key]) => kept.has(releaseOf(key))),
    ...signatures.map((signature, index): [string, string] => [`${own}-${index + 1}`, Buffer.from(signature).toString('base64')]),
  ]);
}
