import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { FlotillaError, isSameJson, KubeObject, readJson, resource } from '@flotilla/api';
import { type FollowingConnections, fetchAnswer } from '@flotilla/http';
import { type SignatureStore, type SignatureStoreAddress, signatureLimits } from '@flotilla/release/signatures';
import { type Client, isAlreadyExists, isConflict } from '@flotilla/runtime';
import { z } from 'zod';

/** Namespace in which a cluster keeps signatures of releases, and the label of the ConfigMaps that hold them. */
const SIGNATURES_NAMESPACE = 'openshift-config-managed';
const SIGNATURES_LABEL = 'release.openshift.io/verification-signatures';

/** A ConfigMap that may hold bytes. */
export const SignatureConfigMap = resource(
  'v1',
  'ConfigMap',
  'configmaps',
  true,
  KubeObject.extend({ binaryData: z.record(z.string(), z.string()).nullish() }),
);

/** `sha256-<hash>`: how a digest begins the keys of ConfigMaps. */
const keyOfDigest = (digest: string): string => digest.replace(':', '-');

/** Signatures in the cluster's own ConfigMaps. */
export function clusterSignatureStore(client: Pick<Client, 'list'>): SignatureStore {
  return {
    name: `ConfigMaps in ${SIGNATURES_NAMESPACE}`,
    async *signatures(digest, signal) {
      const { items } = await client.list(SignatureConfigMap, { namespace: SIGNATURES_NAMESPACE, labelSelector: SIGNATURES_LABEL, signal });
      for (const { binaryData } of items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)))
        for (const [key, text] of Object.entries(binaryData ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))
          if (key === keyOfDigest(digest) || key.startsWith(`${keyOfDigest(digest)}-`)) yield Buffer.from(text, 'base64');
    },
  };
}

/** Signatures behind a URL: `{URL}/{algorithm}={hash}/signature-1` and so on, until one is not there. */
export function addressedSignatureStore({ name, url }: SignatureStoreAddress, connections: FollowingConnections): SignatureStore {
  const read = url.protocol === 'file:' ? readSmallFile : (at: URL, signal: AbortSignal) => download(connections, at, signal);
  return {
    name: `${name} (${withoutSecrets(url)})`,
    async *signatures(digest, signal) {
      for (let index = 1; index <= signatureLimits.perDigest; index++) {
        const signature = await read(addressOf(url, digest, index), signal);
        if (signature === undefined) return;
        yield signature;
      }
    },
  };
}

function addressOf(store: URL, digest: string, index: number): URL {
  const address = new URL(store);
  const folder = store.pathname.endsWith('/') ? store.pathname : `${store.pathname}/`;
  address.pathname = `${folder}${digest.replace(':', '=')}/signature-${index}`;
  return address;
}

/** An address as messages show it: without user, password and query. */
const withoutSecrets = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`;

async function download(connections: FollowingConnections, url: URL, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const { dispatcherFor } = await connections.current();
  const { status, bytes } = await fetchAnswer({ url, dispatcherFor, maxBytes: signatureLimits.signatureBytes, signal });
  if (status === 404) return undefined;
  if (status !== 200) throw new FlotillaError('FLOTILLA_SIGNATURE_STORE', `${withoutSecrets(url)} answered with HTTP status ${status}`);
  return bytes;
}

async function readSmallFile(url: URL): Promise<Uint8Array | undefined> {
  const path = fileURLToPath(url);
  const found = await stat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  });
  if (!found) return undefined;
  if (!found.isFile() || found.size > signatureLimits.signatureBytes)
    throw new FlotillaError('FLOTILLA_SIGNATURE_STORE', `${path} is no file of at most ${signatureLimits.signatureBytes} bytes`);
  return readFile(path);
}

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
