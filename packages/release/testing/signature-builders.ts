import { createMessage, generateKey, type PrivateKey, type PublicKey, sign } from 'openpgp';
import type { SignatureStore } from '../src/signatures/verify-release.ts';

/** A key made for a test. */
export interface TestKey {
  readonly privateKey: PrivateKey;
  readonly publicKey: PublicKey;
}

/** Makes a key that was there a day ago. */
export async function testKey(
  options: { readonly type?: 'curve25519' | 'rsa'; readonly date?: Date; readonly validForS?: number } = {},
): Promise<TestKey> {
  const { type = 'curve25519', date = new Date(Date.now() - 86_400_000), validForS: keyExpirationTime = 0 } = options;
  return generateKey({ type, rsaBits: 2048, userIDs: [{ name: 'Tests' }], format: 'object', date, keyExpirationTime });
}

/** Content of a container signature of a digest; `changes` replace its critical parts. */
export const signatureContent = (digest: string, changes: object = {}): object => ({
  critical: {
    type: 'atomic container signature',
    image: { 'docker-manifest-digest': digest },
    identity: { 'docker-reference': 'registry.example/release:4.20.1' },
    ...changes,
  },
  optional: { creator: 'Tests', timestamp: 1_700_000_000 },
});

/** A signed message of some content. */
export async function signed(
  content: object | Uint8Array,
  { privateKey }: TestKey,
  date = new Date(Date.now() - 60_000),
): Promise<Uint8Array> {
  const binary = content instanceof Uint8Array ? content : new TextEncoder().encode(JSON.stringify(content));
  const message = await createMessage({ binary });
  return sign({ message, signingKeys: privateKey, format: 'binary', date });
}

/** A store that has these signatures of whatever is asked for, or fails. */
export function storeOf(name: string, signatures: readonly Uint8Array[] | Error): SignatureStore & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    name,
    asked,
    async *signatures(digest) {
      asked.push(digest);
      if (signatures instanceof Error) throw signatures;
      yield* signatures;
    },
  };
}
