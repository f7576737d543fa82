import { beforeAll, describe, expect, test } from 'vitest';
import { signatureContent, signed, storeOf, type TestKey, testKey } from '../../testing/signature-builders.ts';
import { type Keyring, readKeyring } from './verification-config.ts';
import { type SignatureStage, type SignatureStore, signatureStages, verifyRelease } from './verify-release.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const other = `sha256:${'b'.repeat(64)}`;
let key: TestKey;
let second: TestKey;
let keyrings: Keyring[];
let good: Uint8Array;

beforeAll(async () => {
  [key, second] = await Promise.all([testKey(), testKey()]);
  keyrings = [await keyringOf('verifier-public-key-a', key)];
  good = await signed(signatureContent(digest), key);
});

const keyringOf = (name: string, { publicKey }: TestKey) => readKeyring(name, Buffer.from(publicKey.armor()));
const verify = (stages: readonly SignatureStage[], options: { keyrings?: Keyring[]; digest?: string; signal?: AbortSignal } = {}) =>
  verifyRelease(options.digest ?? digest, {
    keyrings: options.keyrings ?? keyrings,
    stages,
    now: new Date(),
    signal: options.signal ?? new AbortController().signal,
  });
const oneStore = (...signatures: Uint8Array[]): SignatureStage[] => [{ stores: [storeOf('store', signatures)] }];

describe('a release is verified', () => {
  test('when its signature is of its digest and by the key', async () => {
    expect(await verify(oneStore(good))).toEqual({ signatures: [good] });
  });

  test('by a signature that comes after others', async () => {
    const wrong = await signed(signatureContent(other), key);
    expect(await verify(oneStore(new Uint8Array([1, 2, 3]), wrong, good))).toEqual({ signatures: [good] });
  });

  test('by an RSA key, and by a binary keyring', async () => {
    const rsa = await testKey({ type: 'rsa' });
    const keyring = await readKeyring('verifier-public-key-rsa', rsa.publicKey.write());
    const signature = await signed(signatureContent(digest), rsa);
    expect(await verify(oneStore(signature), { keyrings: [keyring] })).toEqual({ signatures: [signature] });
  });

  test('when each keyring has signed, each in a signature of its own', async () => {
    const both = [...keyrings, await keyringOf('verifier-public-key-b', second)];
    const byTwo = await signed(signatureContent(digest), second);
    expect(await verify(oneStore(good, byTwo), { keyrings: both })).toEqual({ signatures: [good, byTwo] });
    await expect(verify(oneStore(good), { keyrings: both })).rejects.toThrow(
      `unable to verify ${digest} against keyrings: verifier-public-key-b`,
    );
  });

  test('by a key that has run out since it signed', async () => {
    const made = new Date(Date.now() - 10 * 86_400_000);
    const old = await testKey({ date: made, validForS: 5 * 86_400 });
    const signature = await signed(signatureContent(digest), old, new Date(made.getTime() + 86_400_000));
    const keyring = await keyringOf('verifier-public-key-old', old);
    expect(await verify(oneStore(signature), { keyrings: [keyring] })).toEqual({ signatures: [signature] });
  });
});

describe('a release is not verified', () => {
  test.each<{ name: string; content: object; why: RegExp }>([
    {
      name: 'of another type',
      content: signatureContent(digest, { type: 'x' }),
      why: /critical\.type: must be "atomic container signature"/,
    },
    {
      name: 'without an identity',
      content: signatureContent(digest, { identity: { 'docker-reference': '' } }),
      why: /critical\.identity\.docker-reference: is empty/,
    },
    { name: 'of another digest', content: signatureContent(other), why: /the signature is of sha256:b+, not of sha256:a+/ },
    { name: 'with a field that nobody knows', content: signatureContent(digest, { more: 1 }), why: /Unrecognized key: "more"/ },
    { name: 'that is no object', content: [], why: /no container signature/ },
  ])('by a signature $name', async ({ content, why }) => {
    await expect(verify(oneStore(await signed(content, key)))).rejects.toThrow(why);
  });

  test('by a signature of what is not JSON', async () => {
    await expect(verify(oneStore(await signed(new Uint8Array([0xff]), key)))).rejects.toThrow(/not JSON/);
  });

  test('by a signature of another key, and one that was changed', async () => {
    const foreign = await signed(signatureContent(digest), second);
    const changed = Uint8Array.from(good, (byte, at) => (at === good.length - 3 ? byte ^ 1 : byte));
    await expect(verify(oneStore(foreign))).rejects.toThrow(/unable to verify sha256:a+ against keyrings: verifier-public-key-a \(store: /);
    await expect(verify(oneStore(changed))).rejects.toThrow(/unable to verify/);
  });

  test.each([
    { name: 'no digest', digest: '', why: 'release images that are not accessed via digest cannot be verified' },
    { name: 'a digest that leads elsewhere', digest: 'sha256:../../x', why: 'has characters that none has' },
  ])('with $name, and no store is asked', async ({ digest, why }) => {
    const store = storeOf('store', [good]);
    await expect(verify([{ stores: [store] }], { digest })).rejects.toThrow(why);
    expect(store.asked).toEqual([]);
  });

  test('without keys', async () => {
    await expect(verify(oneStore(good), { keyrings: [] })).rejects.toThrow('verification is not possible');
  });

  test('when it takes too long', async () => {
    const timeout = new AbortController();
    const silent: SignatureStore = {
      name: 'silent',
      async *signatures(_, signal) {
        timeout.abort(new Error('4 minutes are over'));
        signal.throwIfAborted();
        yield good;
      },
    };
    await expect(verify([{ stores: [silent] }], { signal: timeout.signal })).rejects.toThrow(
      /it took too long; silent: 4 minutes are over/,
    );
  });
});

describe('stores are asked in order', () => {
  const stages = (parts: { inCluster?: Uint8Array[]; configured?: Uint8Array[][]; ofPayload?: Uint8Array[] }) => {
    const [inCluster, ofPayload] = [storeOf('cluster', parts.inCluster ?? []), storeOf('payload', parts.ofPayload ?? [])];
    const configured = parts.configured?.map((signatures, index) => storeOf(`configured ${index}`, signatures));
    return { inCluster, ofPayload, configured, list: signatureStages({ inCluster, configured, ofPayload: [ofPayload] }) };
  };

  test('what the cluster keeps suffices, though the list of stores is empty', async () => {
    const { list, ofPayload } = stages({ inCluster: [good], configured: [], ofPayload: [good] });
    await verify(list);
    expect(ofPayload.asked).toEqual([]);
  });

  test('the payload’s stores come after the cluster', async () => {
    const { list, inCluster } = stages({ ofPayload: [good] });
    await verify(list);
    expect(inCluster.asked).toEqual([digest]);
  });

  test('configured stores stand in place of the payload’s', async () => {
    const { list, ofPayload } = stages({ configured: [[], []], ofPayload: [good] });
    await expect(verify(list)).rejects.toThrow('spec.signatureStores names no store with a valid signature');
    expect(ofPayload.asked).toEqual([]);
    await verify(stages({ configured: [[], [good]] }).list);
  });

  test('an empty list of stores is an error', async () => {
    await expect(verify(stages({ configured: [], ofPayload: [good] }).list)).rejects.toThrow('spec.signatureStores is an empty list');
  });

  test('a store that fails harms no other, and is named when none has a signature', async () => {
    const broken = storeOf('broken', new Error('HTTP 500'));
    await verify([{ stores: [broken, storeOf('good', [good])] }]);
    await expect(verify([{ stores: [broken] }])).rejects.toThrow(/\(broken: HTTP 500\)/);
  });

  test('a store that hangs is left when another had what is needed', async () => {
    const hanging: SignatureStore = {
      name: 'hanging',
      async *signatures(_, signal) {
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        yield good;
      },
    };
    expect(await verify([{ stores: [hanging, storeOf('good', [good])] }])).toEqual({ signatures: [good] });
  });
});
