import { errorMessage } from '@flotilla/api';
import type { Key } from 'openpgp';
import { quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { type Json, objectAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';

/** Marks the ConfigMap of a payload that says how later releases are verified; its value says nothing. */
const ANNOTATION = 'release.openshift.io/verification-config-map';
const KEYRING = 'verifier-public-key-';
const STORE = 'store-';

/** Limits of signatures and of what verifies them. */
export const signatureLimits = { keyringBytes: 1024 * 1024, keyrings: 32, stores: 32, signatureBytes: 64 * 1024, perDigest: 9 } as const;

/** A store of signatures behind a URL. */
export interface SignatureStoreAddress {
  readonly name: string;
  readonly url: URL;
}

interface VerificationConfig {
  /** Each of them has to have signed. */
  readonly keyrings: readonly Keyring[];
  readonly stores: readonly SignatureStoreAddress[];
}

/**
 * Reads how releases are verified from the manifests of a payload: the first ConfigMap that is annotated so. Undefined when there is none.
 * @throws ReleaseError `FLOTILLA_RELEASE_KEYS_INVALID` naming the file, the key and the fix
 */
export async function readVerificationConfig(manifests: Iterable<Manifest>): Promise<VerificationConfig | undefined> {
  const found = Iterator.from(manifests).find(
    ({ group, kind, annotations }) => group === '' && kind === 'ConfigMap' && annotations?.[ANNOTATION] !== undefined,
  );
  return found && readConfigMap(found);
}

async function readConfigMap(manifest: Manifest): Promise<VerificationConfig> {
  const refuse = (why: string, fix: string, cause?: unknown): ReleaseError =>
    new ReleaseError(ReleaseErrorCode.keysInvalid, `${manifest.file}: ConfigMap ${quoted(manifest.name)} ${why}; ${fix}`, { cause });
  const keyrings: Keyring[] = [];
  const stores: SignatureStoreAddress[] = [];
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
    }
  }
  if (stores.length === 0) throw refuse('names no signature store', `write one into ${STORE}<name>`);
  if (keyrings.length === 0) throw refuse('has no public keys', `write a keyring into ${KEYRING}<name>`);
  return { keyrings, stores };
}

function entriesOf({ data, binaryData }: Json): [string, Uint8Array][] {
  const bytesOf = (value: unknown, encoding: BufferEncoding): [string, Uint8Array][] =>
    Object.entries(objectAt(value)).flatMap(([key, text]) => (typeof text === 'string' ? [[key, Buffer.from(text, encoding)]] : []));
  return [...bytesOf(data, 'utf8'), ...bytesOf(binaryData, 'base64')].sort(([a], [b]) => (a < b ? -1 : 1));
}

function storeUrl(text: string): URL | undefined {
  const url = URL.parse(text.trim());
  return url && ['http:', 'https:', 'file:'].includes(url.protocol) ? url : undefined;
}

/** Public keys, one of which has to have signed. */
export interface Keyring {
  /** Its key in the payload's ConfigMap: `verifier-public-key-…`. */
  readonly name: string;
  /**
   * Returns the content of a message that one of the keys signed.
   * @throws Error saying why it did not
   */
  open(message: Uint8Array, now: Date): Promise<Uint8Array>;
}

/** Limits of what is signed: a container signature has 300 bytes. */
const MAX_CONTENT_BYTES = 64 * 1024;

/** Loaded when something is to be verified: it takes 10 MB of memory. */
const openpgp = () => import('openpgp');

/**
 * Reads a keyring, armored or binary.
 * @throws Error saying what is wrong with it
 */
export async function readKeyring(name: string, content: Uint8Array): Promise<Keyring> {
  const keys = await readPublicKeys(content);
  return { name, open: (message, now) => openMessage(message, keys, now) };
}

async function readPublicKeys(content: Uint8Array): Promise<Key[]> {
  const { readKeys } = await openpgp();
  const text = new TextDecoder('utf-8').decode(content);
  const isArmored = text.includes('-----BEGIN PGP');
  const keys = await (isArmored ? readKeys({ armoredKeys: text }) : readKeys({ binaryKeys: content }));
  if (keys.length === 0) throw new Error('it holds no public key');
  if (keys.some((key) => key.isPrivate())) throw new Error('it holds a private key: publish the public one alone, and replace that key');
  return keys;
}

async function openMessage(binaryMessage: Uint8Array, verificationKeys: Key[], date: Date): Promise<Uint8Array> {
  const { readMessage, verify } = await openpgp();
  const message = await readMessage({ binaryMessage, config: { maxDecompressedMessageSize: MAX_CONTENT_BYTES } });
  const { data, signatures } = await verify({ message, verificationKeys, format: 'binary', date });
  if (signatures.length === 0) throw new Error('the message is not signed');
  const why: string[] = [];
  for (const { verified } of signatures) {
    try {
      await verified;
      return data;
    } catch (error) {
      why.push(errorMessage(error));
    }
  }
  throw new Error(why.join('; '));
}
