import { createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync } from 'node:crypto';

/** Key pair of one process for the channel between pullers. The public half may stand anywhere. */
interface ChannelKey {
  /** Public half, base64url. */
  readonly publicKey: string;
  /** Derives the secret with the other side's public half; undefined for a malformed one. */
  secretWith(otherPublicKey: string): Buffer | undefined;
}

const SECRET_BYTES = 32;

/** Makes a key pair (X25519) that ends with the process. */
export function createChannelKey(): ChannelKey {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  return {
    publicKey: publicKey.export({ format: 'jwk' }).x ?? '',
    secretWith(other) {
      try {
        const key = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: other }, format: 'jwk' });
        return Buffer.from(hkdfSync('sha256', diffieHellman({ privateKey, publicKey: key }), '', 'flotilla pre-cache', SECRET_BYTES));
      } catch {
        return undefined;
      }
    },
  };
}
