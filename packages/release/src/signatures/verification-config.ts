import { errorMessage, isJsonObject } from '@flotilla/api';
import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import type { Manifest } from '../payload/manifest.ts';
import { type Keyring, readKeyring } from './keyring.ts';

/** Marks the ConfigMap of a payload that says how later releases are verified; its value says nothing. */
const ANNOTATION = 'release.openshift.io/verification-config-map';
const KEYRING = 'verifier-public-key-';
const STORE = 'store-';

/** Limits of signatures and of what verifies them. */
export const signatureLimits = { keyringBytes: 1024 * 1024, keyrings: 32, stores: 32, signatureBytes: 64 * 1024, perDigest: 9 } as const;

/** A store of signatures behind a URL. */
export interface SignatureStoreAddress {
  /** For messages. */
  readonly name: string;
  /** http, https or file. */
  readonly url: URL;
}

/** How the releases after a payload are verified. */
interface VerificationConfig {
  /** File of the payload that says it. */
  readonly file: string;
  /** Each of them has to have signed. */
  readonly keyrings: readonly Keyring[];
  readonly stores: readonly SignatureStoreAddress[];
  /** Keys of the ConfigMap that mean nothing here. */
  readonly ignored: readonly string[];
}

/**
 * Reads how releases are verified from the manifests of a payload: the first ConfigMap that is annotated so. Undefined when there is none.
 * @throws ReleaseError `FLOTILLA_RELEASE_KEYS_INVALID` naming the file, the key and the fix
 */
export async function readVerificationConfig(manifests: Iterable<Manifest>): Promise<VerificationConfig | undefined> {
  for (const manifest of manifests)
    if (manifest.group === '' && manifest.kind === 'ConfigMap' && manifest.annotations?.[ANNOTATION] !== undefined)
      return readConfigMap(manifest);
  return undefined;
}

async function readConfigMap(manifest: Manifest): Promise<VerificationConfig> {
  const refuse = (why: string, fix: string, cause?: unknown): ReleaseError =>
    new ReleaseError(ReleaseErrorCode.keysInvalid, `${manifest.file}: ConfigMap ${quoted(manifest.name)} ${why}; ${fix}`, { cause });
  const keyrings: Keyring[] = [];
  const stores: SignatureStoreAddress[] = [];
  const ignored: string[] = [];
  for (const [key, content] of entriesOf(manifest.object)) {
    if (key.startsWith(KEYRING)) {
      if (content.byteLength > signatureLimits.keyringBytes || keyrings.length >= signatureLimits.keyrings)
        throw refuse(
          `has too much in ${quoted(key)}`,
          `at most ${signatureLimits.keyrings} keyrings of ${signatureLimits.keyringBytes} bytes`,
        );
      const keyring = await readKeyring(key, content).catch((cause: unknown) => {
        throw refuse(`has no public keys in ${quoted(key)}: ${errorMessage(cause)}`, 'write an OpenPGP keyring, armored or binary', cause);
      });
      keyrings.push(keyring);
    } else if (key.startsWith(STORE)) {
      const url = storeUrl(Buffer.from(content).toString('utf8'));
      if (!url || stores.length >= signatureLimits.stores)
        throw refuse(
          `has no address of a signature store in ${quoted(key)}`,
          `write an http, https or file URL; at most ${signatureLimits.stores}`,
        );
      stores.push({ name: key, url });
    } else ignored.push(key);
  }
  if (stores.length === 0) throw refuse('names no signature store', `write one into ${STORE}<name>`);
  if (keyrings.length === 0) throw refuse('has no public keys', `write a keyring into ${KEYRING}<name>`);
  return { file: manifest.file, keyrings, stores, ignored };
}

/** What a ConfigMap holds, by key, as bytes. */
function entriesOf({ data, binaryData }: Readonly<Record<string, unknown>>): [string, Uint8Array][] {
  const texts = (value: unknown): [string, string][] =>
    isJsonObject(value) ? Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string') : [];
  return [
    ...texts(data).map(([key, text]): [string, Uint8Array] => [key, Buffer.from(text, 'utf8')]),
    ...texts(binaryData).map(([key, text]): [string, Uint8Array] => [key, Buffer.from(text, 'base64')]),
  ].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The address of a store; undefined for what is none. */
function storeUrl(text: string): URL | undefined {
  const url = URL.parse(text.trim());
  return url && ['http:', 'https:', 'file:'].includes(url.protocol) ? url : undefined;
}
