import { beforeAll, expect, test } from 'vitest';
import { payloadManifest } from '../../testing/payload-fixture.ts';
import { type TestKey, testKey } from '../../testing/signature-builders.ts';
import { readVerificationConfig } from './verification-config.ts';

let key: TestKey;
beforeAll(async () => {
  key = await testKey();
});

const configMap = (data: object, annotations: object = { 'release.openshift.io/verification-config-map': '' }) =>
  payloadManifest('release-manifests/0000_90_keys.yaml', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'keys', annotations },
    data,
  });
const stores = { 'store-a': ' https://store.example/signatures/ \n', 'store-b': 'file:///signatures' };

test('keys and stores of the first ConfigMap that says so', async () => {
  const keys = { 'verifier-public-key-a': key.publicKey.armor(), other: 'x' };
  const config = await readVerificationConfig([configMap({}, {}), configMap({ ...keys, ...stores }), configMap({})]);
  expect(config?.keyrings.map(({ name }) => name)).toEqual(['verifier-public-key-a']);
  expect(config?.stores.map(({ name, url }) => [name, url.href])).toEqual([
    ['store-a', 'https://store.example/signatures/'],
    ['store-b', 'file:///signatures'],
  ]);
});

test('none where no ConfigMap says so', async () => {
  expect(await readVerificationConfig([configMap({}, {})])).toBeUndefined();
});

test.each<{ name: string; data: () => object; why: RegExp }>([
  { name: 'no store', data: () => ({ 'verifier-public-key-a': key.publicKey.armor() }), why: /"keys" names no signature store/ },
  { name: 'no key', data: () => stores, why: /"keys" has no public keys; write a keyring into verifier-public-key-/ },
  {
    name: 'a key that is none',
    data: () => ({ ...stores, 'verifier-public-key-a': 'x' }),
    why: /no public keys in "verifier-public-key-a"/,
  },
  { name: 'a private key', data: () => ({ ...stores, 'verifier-public-key-a': key.privateKey.armor() }), why: /it holds a private key/ },
  { name: 'an address of another kind', data: () => ({ 'store-a': 'ftp://x' }), why: /no address of a signature store in "store-a"/ },
])('$name is refused, with the file and the fix', async ({ data, why }) => {
  await expect(readVerificationConfig([configMap(data())])).rejects.toMatchObject({
    code: 'FLOTILLA_RELEASE_KEYS_INVALID',
    message: expect.stringMatching(why),
  });
  await expect(readVerificationConfig([configMap(data())])).rejects.toThrow('release-manifests/0000_90_keys.yaml');
});
