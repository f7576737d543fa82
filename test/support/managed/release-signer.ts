import { createMessage, generateKey, sign } from 'openpgp';

/** Whoever makes releases, with a key of his own. */
export interface ReleaseSigner {
  /** Armored; a release names it as that of the next one's signer. */
  readonly publicKey: string;
  /** Signature of a release image: what a signature store would answer. */
  sign(digest: string): Promise<Uint8Array>;
}

/** A minute before now: a clock that is a little behind would find the key not valid yet. */
const EARLIER_MS = 60_000;

/** Makes a key and signs with it, as releases are signed. */
export async function createReleaseSigner(): Promise<ReleaseSigner> {
  const { publicKey, privateKey } = await generateKey({
    type: 'curve25519',
    userIDs: [{ name: 'Edge releases' }],
    format: 'object',
    date: new Date(Date.now() - EARLIER_MS),
  });
  return {
    publicKey: publicKey.armor(),
    async sign(digest) {
      const image = { 'docker-manifest-digest': digest };
      const critical = {
        type: 'atomic container signature',
        image,
        identity: { 'docker-reference': 'registry.flotilla.test/edge/releases' },
      };
      const message = await createMessage({ binary: Buffer.from(JSON.stringify({ critical })) });
      return sign({ message, signingKeys: privateKey, format: 'binary' });
    },
  };
}
