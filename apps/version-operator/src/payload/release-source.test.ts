import { createServer, type Server } from 'node:http';
import type { KubeObject } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import { loadPayload, type Manifest } from '@flotilla/release';
import { buildReleaseHead, payloadFilesOf, signatureContent, signed, testKey } from '@flotilla/release/testing';
import { type Client, createLogger, systemClock } from '@flotilla/runtime';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { registrySource } from './release-source.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const image = `registry.example/release@${digest}`;
const wanted = { image, version: '4.20.2', force: false };
const { signal } = new AbortController();
let server: Server;
let base = '';
let armor = '';
let signature: Uint8Array;
/** Paths of stores that have the signature. */
let having: Set<string>;
let asked: string[];
/** Images whose files were read. */
let downloads: string[];
/** Objects of the cluster, by kind, namespace and name. */
let objects: Map<string, KubeObject>;

beforeAll(async () => {
  const key = await testKey();
  armor = key.publicKey.armor();
  signature = await signed(signatureContent(digest), key);
  server = createServer((request, response) => {
    const [, store = '', , name] = (request.url ?? '').split('/');
    asked.push(store);
    if (having.has(store) && name === 'signature-1') response.writeHead(200).end(signature);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  base = `http://127.0.0.1:${address.port}`;
});
afterAll(() => server?.close());
beforeEach(() => {
  having = new Set();
  asked = [];
  downloads = [];
  objects = new Map();
});

const keyOf = (namespace: string | undefined, name: string): string => `${namespace}/${name}`;
/** As much of an API server as keeps ConfigMaps. */
const client = (): Client => {
  const write = async (_: unknown, object: KubeObject) => {
    objects.set(keyOf(object.metadata.namespace, object.metadata.name), object);
    return object;
  };
  const known: Partial<Record<keyof Client, unknown>> = {
    get: async (_: unknown, ref: { namespace?: string; name: string }) => objects.get(keyOf(ref.namespace, ref.name)),
    list: async () => ({
      items: [...objects.values()].filter(
        ({ metadata }) => metadata.labels?.['release.openshift.io/verification-signatures'] !== undefined,
      ),
    }),
    create: write,
    replace: write,
  };
  return known as unknown as Client;
};

const running = { version: '4.20.1', image: `registry.example/release@sha256:${'b'.repeat(64)}` };

/** Manifests of the release that is applied. */
async function applied(data: object | null): Promise<readonly Manifest[]> {
  const annotations = { 'release.openshift.io/verification-config-map': '' };
  const files: Record<string, object> = {
    ...buildReleaseHead('4.20.1'),
    'manifests/a.json': { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } },
    ...(data && {
      'release-manifests/keys.json': { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'keys', namespace: 'b', annotations }, data },
    }),
  };
  return (await loadPayload(payloadFilesOf(files), { releaseImage: 'a', clusterProfile: 'b' })).manifests;
}

/** A source of a cluster with these stores of its own. */
async function source(signatureStores?: object[], data: object | null = { 'verifier-public-key-a': armor, 'store-a': `${base}/payload` }) {
  const manifests = await applied(data);
  const clusterVersion = ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: 'x', signatureStores },
    status: { desired: running, history: [{ ...running, state: 'Completed', startedTime: '', completionTime: null, verified: true }] },
  });
  const files = [{ path: 'manifests/a.json', content: Buffer.from('{}') }];
  return registrySource({
    client: client(),
    images: {
      read: async (pullSpec) => {
        downloads.push(pullSpec);
        return files;
      },
      isOfRepository: (of, other) => of.split('@')[0] === other.split('@')[0],
    },
    isKeeping: true,
    applied: () => manifests,
    clusterVersion: () => clusterVersion,
    proxy: () => undefined,
    clock: systemClock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
}
const refusal = async (parts: Parameters<typeof source>) =>
  (await source(...parts)).retrieve(wanted, signal).then(
    () => 'taken',
    (error: Error) => error.message,
  );

test('a release that the payload’s store has a signature of is taken, and the signature kept', async () => {
  having.add('payload');
  expect(await (await source()).retrieve(wanted, signal)).toMatchObject({ verified: true, acceptedRisks: '' });
  expect(objects.get('openshift-config-managed/signatures-managed')).toMatchObject({
    metadata: { labels: { 'release.openshift.io/verification-signatures': '' } },
    binaryData: { [`sha256-${'a'.repeat(64)}-1`]: Buffer.from(signature).toString('base64') },
  });
});

test('what was kept is enough the next time', async () => {
  having.add('payload');
  await (await source()).retrieve(wanted, signal);
  having.clear();
  asked = [];
  expect(await (await source()).retrieve(wanted, signal)).toMatchObject({ verified: true });
  expect(asked).toEqual([]);
});

test('nothing of a release that nobody vouches for is downloaded ahead', async () => {
  await expect((await source()).prefetch(image, signal)).rejects.toThrow(/is not read ahead, because it is not verified: .*keyring/);
  expect(downloads).toEqual([]);
});

test('nothing of another repository is asked for ahead, signed or not', async () => {
  having.add('payload');
  const foreign = image.replace('registry.example/release', 'elsewhere.example/release');
  await expect((await source()).prefetch(foreign, signal)).rejects.toThrow(/another repository .*\(registry\.example\/release\)/);
  expect([...downloads, ...asked]).toEqual([]);
});

test('what is read ahead brings its signature', async () => {
  having.add('payload');
  await (await source()).prefetch(image, signal);
  having.clear();
  expect(await (await source()).retrieve(wanted, signal)).toMatchObject({ verified: true });
});

test('stores of the ClusterVersion stand in place of the payload’s', async () => {
  having.add('payload');
  expect(await refusal([[{ url: `${base}/configured` }]])).toContain('spec.signatureStores names no store with a valid signature');
  expect(asked).not.toContain('payload');
  having.add('configured');
  expect(await refusal([[{ url: `${base}/configured` }]])).toBe('taken');
});

test.each<{ name: string; stores: object[]; why: string }>([
  { name: 'none', stores: [], why: 'spec.signatureStores is an empty list' },
  { name: 'one that is no URL', stores: [{ url: 'store' }], why: 'spec.signatureStores[0]: its url is no http or https URL' },
  { name: 'one that is a file', stores: [{ url: 'file:///etc' }], why: 'spec.signatureStores[0]: its url is no http or https URL' },
  {
    name: 'an authority that is not there',
    stores: [{ url: 'https://store.invalid', ca: { name: 'ca' } }],
    why: 'its ConfigMap openshift-config/ca has no ca-bundle.crt',
  },
])('stores that cannot be asked: $name', async ({ stores, why }) => {
  expect(await refusal([stores])).toContain(why);
});

test('without anybody who signs, nothing is taken but by force', async () => {
  const nobody = await source(undefined, {});
  await expect(nobody.retrieve(wanted, signal)).rejects.toThrow(/The update cannot be verified: .*names no signature store/);
  const silent = await source(undefined, null);
  await expect(silent.retrieve(wanted, signal)).rejects.toThrow(/verification is not possible/);
  expect(await silent.retrieve({ ...wanted, force: true }, signal)).toMatchObject({
    verified: false,
    acceptedRisks: expect.stringContaining('cannot be verified, but continuing anyway because the update was forced'),
  });
});
