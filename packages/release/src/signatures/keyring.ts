import { errorMessage } from '@flotilla/api';
import type { Key } from 'openpgp';

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
