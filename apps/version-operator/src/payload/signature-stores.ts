import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { FlotillaError, KubeObject, resource } from '@flotilla/api';
import { type FollowingConnections, fetchAnswer } from '@flotilla/http';
import { type SignatureStore, type SignatureStoreAddress, signatureLimits } from '@flotilla/release/signatures';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';

/** Namespace in which a cluster keeps signatures of releases, and the label of the ConfigMaps that hold them. */
export const SIGNATURES_NAMESPACE = 'openshift-config-managed';
export const SIGNATURES_LABEL = 'release.openshift.io/verification-signatures';

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
